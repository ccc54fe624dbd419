-- Reading the audit, what access was at a time, and its retention.

create or replace function tool_rag.list_changes(
    since timestamptz default null, until timestamptz default null, objects text[] default null,
    label text default null, login text default null, max_rows int default 100
) returns table (
    changed_at timestamptz, login text, acting_role text, actor text, object text, label text,
    action text, before jsonb, after jsonb, change_id bigint
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select c.changed_at, c.login, c.acting_role, c.actor, c.object, c.label, c.action, c.before,
        c.after, c.change_id
    from tool_rag.change c
    where tool_rag._check_unbound()
        and (list_changes.since is null or c.changed_at >= list_changes.since)
        and (list_changes.until is null or c.changed_at < list_changes.until)
        and (list_changes.objects is null or c.object = any(list_changes.objects))
        and (list_changes.label is null or tool_rag._matches(list_changes.label, c.label))
        and (list_changes.login is null or c.login = list_changes.login)
    order by c.change_id desc
    limit list_changes.max_rows
$$;
comment on function tool_rag.list_changes(
    timestamptz, timestamptz, text[], text, text, int
) is
'Changes of catalogue, wording and access, the latest first: of some tables (server, tool, role, '
'role_parent, grant_rule, synonym, example, dependency, ...), of labels that fit a pattern, by one '
'login. For admins.';

create or replace function tool_rag._rows_at(p_object text, p_time timestamptz)
returns setof jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    -- What stands now and was not touched since, and of all that was touched what it was before.
    return query execute format(
        'with touched as materialized ('
        ' select distinct on (c.object_id) c.object_id, c.before'
        ' from tool_rag.change c'
        ' where c.object = %1$L and c.changed_at > $1'
        ' order by c.object_id, c.change_id'
        ')'
        ' select t.before from touched t where t.before is not null'
        ' union all'
        ' select to_jsonb(r) from tool_rag.%1$I r'
        ' where not exists ('
        ' select from touched t where t.object_id = tool_rag._audited_key(%1$L, to_jsonb(r)))',
        p_object
    ) using p_time;
end
$$;
comment on function tool_rag._rows_at(text, timestamptz) is 'The rows of an audited table at a time.';

create or replace function tool_rag._access_at(p_time timestamptz)
returns table (role text, server text, tool text)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with recursive role as materialized (
        select (r ->> 'role_id')::int as role_id, r ->> 'name' as name
        from tool_rag._rows_at('role', p_time) r
    ),
    parent as materialized (
        select (r ->> 'role_id')::int as role_id, (r ->> 'parent_id')::int as parent_id
        from tool_rag._rows_at('role_parent', p_time) r
    ),
    ancestor (role_id, ancestor_id) as (
        select r.role_id, r.role_id from role r
        union
        select a.role_id, p.parent_id from ancestor a join parent p on p.role_id = a.ancestor_id
    ),
    rule as materialized (
        select g.role_id, g.server_pattern, g.tool_pattern, g.effect
        from tool_rag._rows_at('grant_rule', p_time) r
        cross join lateral jsonb_populate_record(null::tool_rag.grant_rule, r) g
        where tool_rag._is_in_force(g, p_time)
    ),
    server as materialized (
        select (r ->> 'server_id')::int as server_id, r ->> 'name' as name
        from tool_rag._rows_at('server', p_time) r
        where (r ->> 'enabled')::boolean
    ),
    tool as materialized (
        select (r ->> 'server_id')::int as server_id, r ->> 'name' as name
        from tool_rag._rows_at('tool', p_time) r
        where (r ->> 'enabled')::boolean and not (r ->> 'withheld')::boolean
    ),
    match as materialized (
        select u.role_id, u.effect, s.server_id, s.name as server, u.tool_pattern
        from rule u
        join server s on tool_rag._matches(u.server_pattern, s.name)
    )
    select r.name, m.server, t.name
    from match m
    join tool t on t.server_id = m.server_id and tool_rag._matches(m.tool_pattern, t.name)
    join ancestor a on a.ancestor_id = m.role_id
    join role r on r.role_id = a.role_id
    group by r.name, m.server, t.name
    having bool_and(m.effect = 'allow')
$$;
comment on function tool_rag._access_at(timestamptz) is
'Who might use what at a time, from the audit: the rules that were in force at that very time.';

create or replace function tool_rag.list_access_changes(
    since timestamptz, until timestamptz default null
) returns table (role text, server text, tool text, change text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_known timestamptz;
begin
    perform tool_rag._check_unbound();
    if list_access_changes.since is null then
        raise exception 'since is null' using
            errcode = 'null_value_not_allowed',
            hint = 'Say from when on: now() - interval ''7 days''.';
    end if;
    select s.changes_purged_until into v_known from tool_rag.audit_setting s;
    if list_access_changes.since < v_known then
        raise exception 'the audit goes back to % only', v_known using
            errcode = 'invalid_parameter_value',
            hint = 'Older changes were purged: audit_setting.keep_changes.';
    end if;
    return query
    select coalesce(n.role, o.role), coalesce(n.server, o.server), coalesce(n.tool, o.tool),
        case when o.tool is null then 'gained' else 'lost' end
    from tool_rag._access_at(list_access_changes.since) o
    full join tool_rag._access_at(
        coalesce(list_access_changes.until, statement_timestamp())
    ) n on n.role = o.role and n.server = o.server and n.tool = o.tool
    where n.tool is null or o.tool is null
    order by 1, 2, 3;
end
$$;
comment on function tool_rag.list_access_changes(timestamptz, timestamptz) is
'Which roles gained or lost which tools between two times (by default until now), whatever did it: '
'rules, their beginning, end and hours, inheritance, tools or servers that came, went or were '
'switched. What was in between, as hours that began and ended, is not told. For admins.';

create or replace function tool_rag.set_audit(
    level text default null, keep_events interval default null, keep_changes interval default null
) returns tool_rag.audit_setting
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_setting tool_rag.audit_setting;
begin
    perform tool_rag._check_unbound();
    if set_audit.level not in ('off', 'counts', 'full') then
        raise exception 'level is % instead of off, counts or full', quote_literal(set_audit.level)
            using errcode = 'invalid_parameter_value',
            hint = 'counts: who, when and how much; full: also the words and the tools.';
    elsif least(set_audit.keep_events, set_audit.keep_changes) < '0' then
        raise exception 'a retention is negative' using
            errcode = 'invalid_parameter_value',
            hint = 'Say how long entries stay: interval ''90 days''.';
    end if;
    if num_nonnulls(set_audit.level, set_audit.keep_events, set_audit.keep_changes) = 0 then
        -- Only asked: nothing is written, so that a standby answers, too.
        select a.* into v_setting from tool_rag.audit_setting a;
        return v_setting;
    end if;
    update tool_rag.audit_setting a
    set level = coalesce(set_audit.level, a.level),
        keep_events = coalesce(set_audit.keep_events, a.keep_events),
        keep_changes = coalesce(set_audit.keep_changes, a.keep_changes)
    returning a.* into v_setting;
    return v_setting;
end
$$;
comment on function tool_rag.set_audit(text, interval, interval) is
'Sets what is recorded of searches and calls, and how long that and changes are kept; what is null '
'stays. Returns what holds then. Changes are always recorded.';

create or replace function tool_rag.record_call(
    server text, tool text, outcome text, roles text[] default null,
    conversation text default null, detail jsonb default null
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_level text;
begin
    if coalesce(record_call.tool, '') = '' or coalesce(record_call.outcome, '') = ''
        or length(record_call.outcome) > 100 or length(record_call.detail::text) > 100000
    then
        raise exception 'a call is recorded with a tool, an outcome of at most 100 characters and '
            'at most 100,000 characters of detail'
            using errcode = 'invalid_parameter_value',
            hint = 'outcome says what came of it: allowed, refused, confirmed, failed.';
    end if;
    select s.level into v_level from tool_rag.audit_setting s;
    if v_level = 'off' then
        return false;
    end if;
    insert into tool_rag.audit_event (kind, roles, conversation, outcome, detail)
    values (
        'call', record_call.roles, record_call.conversation, record_call.outcome,
        case when v_level = 'full' then
            jsonb_build_object(
                'server', record_call.server, 'tool', record_call.tool,
                'detail', tool_rag._without_secrets(record_call.detail)
            )
        end
    );
    return true;
end
$$;
comment on function tool_rag.record_call(text, text, text, text[], text, jsonb) is
'Records that a tool was called, or that a call was refused, as far as the level of the audit has '
'it; true where it did. Values of detail whose keys look like secrets are not kept.';

create or replace function tool_rag._without_secrets(p_value jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    case jsonb_typeof(p_value)
        when 'object' then
            return coalesce((
                select jsonb_object_agg(
                    e.key,
                    case when lower(e.key) ~
                        '(passw|secret|token|api.?key|credential|authori[sz]ation|cookie|private.?key|^pin$|^cvv|^cvc)'
                        then '"(not kept)"'::jsonb
                        else tool_rag._without_secrets(e.value)
                    end
                )
                from jsonb_each(p_value) e
            ), '{}');
        when 'array' then
            return coalesce((
                select jsonb_agg(tool_rag._without_secrets(e.value) order by e.place)
                from jsonb_array_elements(p_value) with ordinality e (value, place)
            ), '[]');
        else
            return p_value;
    end case;
end
$$;
comment on function tool_rag._without_secrets(jsonb) is
'A document without the values of keys that are called like secrets, at any depth.';

create or replace function tool_rag.list_audit_events(
    since timestamptz default null, until timestamptz default null, kind text default null,
    outcome text default null, login text default null, max_rows int default 100
) returns table (
    happened_at timestamptz, kind text, login text, acting_role text, actor text, roles text[],
    conversation text, outcome text, tools int, tokens int, milliseconds real, detail jsonb,
    event_id bigint
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select e.happened_at, e.kind, e.login, e.acting_role, e.actor, e.roles, e.conversation,
        e.outcome, e.tools, e.tokens, e.milliseconds, e.detail, e.event_id
    from tool_rag.audit_event e
    where tool_rag._check_unbound()
        and (list_audit_events.since is null or e.happened_at >= list_audit_events.since)
        and (list_audit_events.until is null or e.happened_at < list_audit_events.until)
        and (list_audit_events.kind is null or e.kind = list_audit_events.kind)
        and (list_audit_events.outcome is null or e.outcome = list_audit_events.outcome)
        and (list_audit_events.login is null or e.login = list_audit_events.login)
    order by e.event_id desc
    limit list_audit_events.max_rows
$$;
comment on function tool_rag.list_audit_events(
    timestamptz, timestamptz, text, text, text, int
) is 'Recorded searches and calls, the latest first. For admins.';

create or replace function tool_rag.purge_audit(
    out changes bigint, out events bigint
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_setting tool_rag.audit_setting;
    v_before timestamptz;
begin
    perform tool_rag._check_unbound();
    select s.* into v_setting from tool_rag.audit_setting s for update;
    perform set_config('tool_rag.purging', 'on', true);
    delete from tool_rag.audit_event e where e.happened_at < now() - v_setting.keep_events;
    get diagnostics events = row_count;
    changes := 0;
    if v_setting.keep_changes is not null then
        v_before := now() - v_setting.keep_changes;
        delete from tool_rag.change c where c.changed_at < v_before;
        get diagnostics changes = row_count;
        update tool_rag.audit_setting s set changes_purged_until = v_before
        where changes > 0 and s.changes_purged_until < v_before;
    end if;
    perform set_config('tool_rag.purging', '', true);
end
$$;
comment on function tool_rag.purge_audit() is
'Removes what the retention no longer keeps, and tells how much. Run it by cron or by hand.';
