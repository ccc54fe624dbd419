-- Writing the audit: changes by trigger, so that plain SQL leaves its traces too; and searches.

create or replace function tool_rag._audited_row(p_row jsonb) returns jsonb
language sql immutable parallel safe
return p_row - array[
    'created_at', 'updated_at', 'content_hash', 'token_count', 'lexemes', 'term_lexemes',
    'singleton', 'digest', 'former_digest', 'last_used_at', 'schedule_id'
];
comment on function tool_rag._audited_row(jsonb) is
'A row without what triggers derive, and without digests of keys.';

create or replace function tool_rag._audited_key(p_object text, p_row jsonb) returns text
language sql immutable parallel safe
return case p_object
    when 'role_parent' then concat_ws(',', p_row ->> 'role_id', p_row ->> 'parent_id')
    when 'dependency' then concat_ws(',', p_row ->> 'tool_id', p_row ->> 'needs_id')
    when 'api_key_role' then concat_ws(',', p_row ->> 'key_id', p_row ->> 'role_id')
    when 'login_role' then concat_ws(',', p_row ->> 'login_id', p_row ->> 'role_id')
    when 'ranking_setting' then '1'
    when 'access_setting' then '1'
    when 'audit_setting' then '1'
    when 'review_setting' then '1'
    else p_row ->> (
        case p_object when 'grant_rule' then 'grant' when 'api_key' then 'key'
            when 'pending_tool' then 'pending' else p_object
        end
        || '_id'
    )
end;
comment on function tool_rag._audited_key(text, jsonb) is 'The key of a row of an audited table.';

create or replace function tool_rag._label_of(p_object text, p_id text) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_label text;
begin
    case p_object
        when 'server' then
            select s.name into v_label from tool_rag.server s where s.server_id = p_id::int;
        when 'role' then
            select r.name into v_label from tool_rag.role r where r.role_id = p_id::int;
        when 'login' then
            select l.name into v_label from tool_rag.login l where l.login_id = p_id::int;
        when 'api_key' then
            select k.name into v_label from tool_rag.api_key k where k.key_id = p_id::int;
        else
            select concat_ws('/', tool_rag._label_of('server', t.server_id::text), t.name)
            into v_label
            from tool_rag.tool t
            where t.tool_id = p_id::int;
    end case;
    if v_label is null then
        -- Gone in this statement: what depended on it goes after it.
        select c.label into v_label
        from tool_rag.change c
        where c.object = p_object and c.object_id = p_id
        order by c.change_id desc
        limit 1;
    end if;
    return coalesce(v_label, format('%s %s', p_object, p_id));
end
$$;
comment on function tool_rag._label_of(text, text) is
'What a server, role, login, key or tool is called, or was before it went.';

create or replace function tool_rag._audited_label(p_object text, p_row jsonb) returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select case p_object
        when 'server' then p_row ->> 'name'
        when 'role' then p_row ->> 'name'
        when 'api_key' then p_row ->> 'name'
        when 'login' then p_row ->> 'name'
        when 'login_role' then format(
            '%s is bound to %s', tool_rag._label_of('login', p_row ->> 'login_id'),
            tool_rag._label_of('role', p_row ->> 'role_id')
        )
        when 'api_key_role' then format(
            '%s has role %s', tool_rag._label_of('api_key', p_row ->> 'key_id'),
            tool_rag._label_of('role', p_row ->> 'role_id')
        )
        when 'tool' then concat_ws(
            '/', tool_rag._label_of('server', p_row ->> 'server_id'), p_row ->> 'name'
        )
        when 'role_parent' then format(
            '%s inherits from %s', tool_rag._label_of('role', p_row ->> 'role_id'),
            tool_rag._label_of('role', p_row ->> 'parent_id')
        )
        when 'grant_rule' then (
            select concat_ws(
                ', ',
                format(
                    '%s: %s %s/%s', tool_rag._label_of('role', p_row ->> 'role_id'), g.effect,
                    g.server_pattern, g.tool_pattern
                ),
                tool_rag._write_hours(g.weekdays, g.hours_from, g.hours_until, g.time_zone)
            )
            from jsonb_populate_record(null::tool_rag.grant_rule, p_row) g
        )
        when 'pending_tool' then format(
            '%s/%s, %s', tool_rag._label_of('server', p_row ->> 'server_id'), p_row ->> 'name',
            p_row ->> 'state'
        )
        when 'synonym' then format(
            '%s: %s',
            coalesce(p_row ->> 'term', tool_rag._label_of('tool', p_row ->> 'tool_id')),
            p_row ->> 'words'
        )
        when 'example' then format(
            '%s: %s', tool_rag._label_of('tool', p_row ->> 'tool_id'), p_row ->> 'request'
        )
        when 'dependency' then format(
            '%s needs %s', tool_rag._label_of('tool', p_row ->> 'tool_id'),
            tool_rag._label_of('tool', p_row ->> 'needs_id')
        )
        else replace(p_object, '_', ' ')
    end
$$;
comment on function tool_rag._audited_label(text, jsonb) is 'A row of an audited table in words.';

create or replace function tool_rag._record_insert() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into tool_rag.change (object, object_id, label, action, after)
    select tg_table_name, tool_rag._audited_key(tg_table_name, r.content),
        tool_rag._audited_label(tg_table_name, r.content), 'insert', tool_rag._audited_row(r.content)
    from (select to_jsonb(n) as content from new_row n) r
    order by 2;
    return null;
end
$$;
comment on function tool_rag._record_insert() is 'Audits new rows.';

create or replace function tool_rag._record_update() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    -- A row whose key changes is another one from then on.
    insert into tool_rag.change (object, object_id, label, action, before, after)
    select tg_table_name, coalesce(n.key, o.key),
        tool_rag._audited_label(tg_table_name, coalesce(n.content, o.content)),
        case when o.key is null then 'insert' when n.key is null then 'delete' else 'update' end,
        tool_rag._audited_row(o.content), tool_rag._audited_row(n.content)
    from (
        select to_jsonb(r) as content,
            tool_rag._audited_key(tg_table_name, to_jsonb(r)) as key
        from old_row r
    ) o
    full join (
        select to_jsonb(r) as content,
            tool_rag._audited_key(tg_table_name, to_jsonb(r)) as key
        from new_row r
    ) n on n.key = o.key
    where tool_rag._audited_row(o.content) is distinct from tool_rag._audited_row(n.content)
    order by 2;
    return null;
end
$$;
comment on function tool_rag._record_update() is 'Audits rows that an update changed.';

create or replace function tool_rag._record_delete() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Before the row goes, so that what goes with it by foreign key finds what it was called.
    insert into tool_rag.change (object, object_id, label, action, before)
    values (
        tg_table_name, tool_rag._audited_key(tg_table_name, to_jsonb(old)),
        tool_rag._audited_label(tg_table_name, to_jsonb(old)), 'delete',
        tool_rag._audited_row(to_jsonb(old))
    );
    return old;
end
$$;
comment on function tool_rag._record_delete() is 'Audits a row that goes.';

create or replace function tool_rag._record_truncate() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    execute format(
        'insert into tool_rag.change (object, object_id, label, action, before)'
        ' select %1$L, tool_rag._audited_key(%1$L, r.content),'
        ' tool_rag._audited_label(%1$L, r.content), ''delete'', tool_rag._audited_row(r.content)'
        ' from (select to_jsonb(t) as content from tool_rag.%1$I t) r order by 2',
        tg_table_name
    );
    return null;
end
$$;
comment on function tool_rag._record_truncate() is 'Audits every row of a table that is emptied.';

create or replace function tool_rag._refuse_audit_edit() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_op = 'DELETE' and current_setting('tool_rag.purging', true) = 'on' then
        return null;
    end if;
    raise exception 'the audit is only ever added to' using
        errcode = 'object_not_in_prerequisite_state',
        hint = 'What is older than its retention goes with: select tool_rag.purge_audit().';
end
$$;
comment on function tool_rag._refuse_audit_edit() is
'Keeps entries of the audit as they were written. It guards against mistakes: who owns the tables '
'can drop the trigger.';

create or replace function tool_rag._record_search(
    p_started timestamptz, p_query text, p_roles text[], p_conversation text, p_tool_ids int[]
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_level constant text := (select s.level from tool_rag.audit_setting s);
    v_tools constant int := cardinality(p_tool_ids);
    v_outcome constant text := case v_tools when 0 then 'empty' else 'found' end;
    v_tokens int;
    v_detail jsonb;
    v_milliseconds real;
begin
    if v_level = 'off' then
        return;
    end if;
    select coalesce(sum(t.token_count), 0),
        case when v_level = 'full' then jsonb_build_object(
            'query', p_query,
            'tools', coalesce(
                jsonb_agg(concat_ws('/', s.name, t.name) order by i.place), '[]'
            )
        ) end
    into v_tokens, v_detail
    from unnest(p_tool_ids) with ordinality i (tool_id, place)
    join tool_rag.tool t on t.tool_id = i.tool_id
    join tool_rag.server s on s.server_id = t.server_id;
    v_milliseconds := 1000 * extract(epoch from clock_timestamp() - p_started);
    if current_setting('transaction_read_only')::boolean then
        raise log 'tool_rag audit: %', jsonb_strip_nulls(jsonb_build_object(
            'kind', 'search', 'login', session_user, 'roles', p_roles,
            'actor', nullif(current_setting('tool_rag.actor', true), ''),
            'conversation', p_conversation, 'outcome', v_outcome, 'tools', v_tools,
            'tokens', v_tokens, 'milliseconds', v_milliseconds, 'detail', v_detail
        ));
        return;
    end if;
    insert into tool_rag.audit_event (
        kind, roles, conversation, outcome, tools, tokens, milliseconds, detail
    )
    values (
        'search', p_roles, p_conversation, v_outcome, v_tools, v_tokens, v_milliseconds, v_detail
    );
end
$$;
comment on function tool_rag._record_search(timestamptz, text, text[], text, int[]) is
'Audits a search as far as the level has it: as a row, or in a read-only transaction as a line of '
'the server''s log. Volatile, so that search_tools, which is stable, may write through it.';

do $$
declare
    v_table text;
begin
    foreach v_table in array array[
        'server', 'tool', 'role', 'role_parent', 'grant_rule', 'synonym', 'example', 'dependency',
        'ranking_setting', 'access_setting', 'audit_setting', 'login', 'login_role', 'api_key',
        'api_key_role', 'review_setting', 'pending_tool'
    ] loop
        -- "zz": after the triggers that act on the edit, which may still refuse it.
        execute format(
            'create or replace trigger zz_%1$s_audit_insert after insert on tool_rag.%1$I'
            ' referencing new table as new_row for each statement'
            ' execute function tool_rag._record_insert();'
            'create or replace trigger zz_%1$s_audit_update after update on tool_rag.%1$I'
            ' referencing old table as old_row new table as new_row for each statement'
            ' execute function tool_rag._record_update();'
            'create or replace trigger zz_%1$s_audit_delete before delete on tool_rag.%1$I'
            ' for each row execute function tool_rag._record_delete();'
            'create or replace trigger zz_%1$s_audit_truncate before truncate on tool_rag.%1$I'
            ' for each statement execute function tool_rag._record_truncate();',
            v_table
        );
    end loop;
    foreach v_table in array array['change', 'audit_event'] loop
        execute format(
            'create or replace trigger %1$s_before_edit'
            ' before update or delete or truncate on tool_rag.%1$I'
            ' for each statement execute function tool_rag._refuse_audit_edit()',
            v_table
        );
    end loop;
end
$$;
