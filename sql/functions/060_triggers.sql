-- Triggers: every edit, also by plain SQL, leaves index, statistics and access exact at its end.

create or replace function tool_rag._before_edit() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tool_rag._lock_catalogue();
    return null;
end
$$;
comment on function tool_rag._before_edit() is 'Orders edits: see _lock_catalogue.';

create or replace function tool_rag._before_tool_write() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_op = 'UPDATE' and new.tool_id <> old.tool_id then
        raise exception 'a tool keeps its tool_id' using
            errcode = 'invalid_parameter_value',
            hint = 'The index knows it by that number; name and server may change.';
    end if;
    new.is_action := coalesce(new.is_action, tool_rag._is_action(new.annotations));
    new.content_hash := tool_rag._content_hash(
        new.title, new.description, new.input_schema, new.output_schema, new.annotations
    );
    new.token_count := tool_rag._estimate_tokens(new.name, new.description, new.input_schema);
    new.updated_at := now();
    return new;
end
$$;
comment on function tool_rag._before_tool_write() is 'Fills the derived columns of a tool.';

create or replace function tool_rag._after_tool_insert() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids int[];
begin
    select array_agg(tool_id order by tool_id) into v_ids from new_tool;
    if v_ids is not null then
        perform tool_rag._index_tools(v_ids);
        perform tool_rag._refresh_access(null, v_ids);
    end if;
    return null;
end
$$;
comment on function tool_rag._after_tool_insert() is 'Indexes new tools and applies the rules.';

create or replace function tool_rag._after_tool_update() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_text int[];
    v_access int[];
begin
    select
        array_agg(n.tool_id order by n.tool_id) filter (
            where (n.name, n.title, n.description, n.input_schema, n.server_id)
                is distinct from (o.name, o.title, o.description, o.input_schema, o.server_id)
        ),
        array_agg(n.tool_id order by n.tool_id) filter (
            where (n.name, n.enabled, n.withheld, n.server_id)
                is distinct from (o.name, o.enabled, o.withheld, o.server_id)
        )
    into v_text, v_access
    from new_tool n
    join old_tool o on o.tool_id = n.tool_id;
    if v_text is not null then
        perform tool_rag._index_tools(v_text);
    end if;
    if v_access is not null then
        perform tool_rag._refresh_access(null, v_access);
    end if;
    return null;
end
$$;
comment on function tool_rag._after_tool_update() is
'Indexes tools whose texts changed, and applies the rules where a name or state did.';

create or replace function tool_rag._after_tool_delete() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids int[];
begin
    select array_agg(tool_id) into v_ids from old_tool;
    if v_ids is not null then
        perform tool_rag._unindex_lexemes(v_ids);
    end if;
    return null;
end
$$;
comment on function tool_rag._after_tool_delete() is
'Takes removed tools out of the index; vectors and access go by foreign key.';

create or replace function tool_rag._after_tool_truncate() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    truncate tool_rag.posting, tool_rag.document, tool_rag.lexeme;
    update tool_rag.catalogue_state set document_count = 0, total_length = 0;
    return null;
end
$$;
comment on function tool_rag._after_tool_truncate() is 'Empties the index with the tools.';

create or replace function tool_rag._after_server_update() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_named int[];
    v_changed int[];
begin
    select
        array_agg(t.tool_id order by t.tool_id) filter (where n.name <> o.name),
        array_agg(t.tool_id order by t.tool_id)
    into v_named, v_changed
    from new_server n
    join old_server o on o.server_id = n.server_id
    join tool_rag.tool t on t.server_id = n.server_id
    where (n.name, n.enabled) is distinct from (o.name, o.enabled);
    if v_named is not null then
        perform tool_rag._index_tools(v_named);
    end if;
    if v_changed is not null then
        perform tool_rag._refresh_access(null, v_changed);
    end if;
    return null;
end
$$;
comment on function tool_rag._after_server_update() is
'A server''s name is among its tools'' texts and in patterns; its state decides what is seen.';

create or replace function tool_rag._after_role_parent_change() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_cycle record;
    v_ids int[];
begin
    if tg_op = 'TRUNCATE' then
        perform tool_rag._refresh_access(null, null);
        return null;
    end if;
    -- Once the statement is through: a cycle that it only passes through is none.
    select r.name as heir, p.name as parent into v_cycle
    from changed c
    join tool_rag.role_parent e on e.role_id = c.role_id and e.parent_id = c.parent_id
    join tool_rag.role r on r.role_id = e.role_id
    join tool_rag.role p on p.role_id = e.parent_id
    where e.parent_id = any(tool_rag._descendants(array[e.role_id]))
    order by r.name, p.name
    limit 1;
    if found then
        raise exception 'role "%" cannot inherit from "%", which inherits from it',
            v_cycle.heir, v_cycle.parent
            using errcode = 'invalid_parameter_value',
            hint = 'Inheritance is without cycles.';
    end if;
    select array_agg(distinct role_id) into v_ids from changed;
    if v_ids is not null then
        perform tool_rag._refresh_access(tool_rag._descendants(v_ids), null);
    end if;
    return null;
end
$$;
comment on function tool_rag._after_role_parent_change() is
'Refuses cycles; applies the rules to roles whose parents changed, and to their heirs.';

create or replace function tool_rag._before_grant_rule_write() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_zone text;
begin
    new.schedule_id := null;
    -- Where only some of the four are there, the table refuses the row.
    if num_nulls(new.weekdays, new.hours_from, new.hours_until, new.time_zone) = 0 then
        v_zone := tool_rag._find_zone(new.time_zone);
        if v_zone is null then
            raise exception '% is no time zone of a region, as Europe/Berlin, nor UTC',
                quote_literal(new.time_zone)
                using errcode = 'invalid_parameter_value',
                hint = 'Names of time zones: select name from pg_timezone_names.';
        end if;
        new.time_zone := v_zone;
        new.weekdays := array(select distinct d from unnest(new.weekdays) d order by d);
        new.hours_until := coalesce(nullif(new.hours_until, '00:00'), '24:00');
    end if;
    if new.valid_from > '-infinity' or new.time_zone is not null then
        select s.schedule_id into new.schedule_id
        from tool_rag.role_schedule s
        where s.role_id = new.role_id and s.effect = new.effect and s.valid_from = new.valid_from
            and (s.weekdays, s.hours_from, s.hours_until, s.time_zone) is not distinct from
                (new.weekdays, new.hours_from, new.hours_until, new.time_zone);
        if not found then
            insert into tool_rag.role_schedule (
                role_id, effect, valid_from, weekdays, hours_from, hours_until, time_zone
            )
            values (
                new.role_id, new.effect, new.valid_from, new.weekdays, new.hours_from,
                new.hours_until, new.time_zone
            )
            returning schedule_id into new.schedule_id;
        end if;
    end if;
    return new;
end
$$;
comment on function tool_rag._before_grant_rule_write() is
'Brings the hours of a rule into one form, and finds or makes its schedule.';

create or replace function tool_rag._after_role_delete() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from tool_rag.role_tool h using gone g where h.role_id = g.role_id;
    return null;
end
$$;
comment on function tool_rag._after_role_delete() is 'Takes away what removed roles might see.';

create or replace function tool_rag._after_role_schedule_delete() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from tool_rag.role_tool h using gone g where h.role_id = g.schedule_id;
    return null;
end
$$;
comment on function tool_rag._after_role_schedule_delete() is
'Takes away what removed schedules had.';

create or replace function tool_rag._after_grant_rule_change() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_role_ids int[];
    v_tool_ids int[];
begin
    -- Schedules that no rule has any more.
    delete from tool_rag.role_schedule s
    where not exists (select from tool_rag.grant_rule g where g.schedule_id = s.schedule_id);
    if tg_op = 'TRUNCATE' then
        perform tool_rag._refresh_access(null, null);
        return null;
    end if;
    select array_agg(distinct role_id) into v_role_ids from changed;
    if v_role_ids is not null then
        select coalesce(array_agg(distinct m.tool_id), '{}') into v_tool_ids
        from (
            select array_agg(c.server_pattern) as servers, array_agg(c.tool_pattern) as tools
            from changed c
        ) p
        cross join lateral tool_rag._match_tools(p.servers, p.tools, null) m;
        perform tool_rag._refresh_access(tool_rag._descendants(v_role_ids), v_tool_ids);
    end if;
    return null;
end
$$;
comment on function tool_rag._after_grant_rule_change() is
'Applies changed rules to the tools that they fit, for their roles and the heirs of these.';

create or replace function tool_rag._after_ranking_setting_update() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (
        select
        from new_setting n, old_setting o
        where to_jsonb(n) - '{bm25_k1,bm25_b}'::text[] <> to_jsonb(o) - '{bm25_k1,bm25_b}'::text[]
    ) then
        perform tool_rag.reindex_tools();
    end if;
    return null;
end
$$;
comment on function tool_rag._after_ranking_setting_update() is
'Indexes the catalogue anew by changed settings.';

create or replace trigger tool_before_edit
before insert or update or delete or truncate on tool_rag.tool
for each statement execute function tool_rag._before_edit();
create or replace trigger tool_before_write
before insert or update on tool_rag.tool
for each row execute function tool_rag._before_tool_write();
create or replace trigger tool_after_insert
after insert on tool_rag.tool referencing new table as new_tool
for each statement execute function tool_rag._after_tool_insert();
create or replace trigger tool_after_update
after update on tool_rag.tool referencing new table as new_tool old table as old_tool
for each statement execute function tool_rag._after_tool_update();
create or replace trigger tool_after_delete
after delete on tool_rag.tool referencing old table as old_tool
for each statement execute function tool_rag._after_tool_delete();
create or replace trigger tool_after_truncate
after truncate on tool_rag.tool
for each statement execute function tool_rag._after_tool_truncate();

create or replace trigger server_before_edit
before insert or update or delete or truncate on tool_rag.server
for each statement execute function tool_rag._before_edit();
create or replace trigger server_after_update
after update on tool_rag.server referencing new table as new_server old table as old_server
for each statement execute function tool_rag._after_server_update();

create or replace trigger role_before_edit
before insert or update or delete or truncate on tool_rag.role
for each statement execute function tool_rag._before_edit();
create or replace trigger role_after_delete
after delete on tool_rag.role referencing old table as gone
for each statement execute function tool_rag._after_role_delete();

create or replace trigger role_schedule_after_delete
after delete on tool_rag.role_schedule referencing old table as gone
for each statement execute function tool_rag._after_role_schedule_delete();

create or replace trigger role_parent_before_edit
before insert or update or delete or truncate on tool_rag.role_parent
for each statement execute function tool_rag._before_edit();
create or replace trigger role_parent_after_insert
after insert on tool_rag.role_parent referencing new table as changed
for each statement execute function tool_rag._after_role_parent_change();
-- What an update took away and what it brought are two changes.
create or replace trigger role_parent_after_update_old
after update on tool_rag.role_parent referencing old table as changed
for each statement execute function tool_rag._after_role_parent_change();
create or replace trigger role_parent_after_update_new
after update on tool_rag.role_parent referencing new table as changed
for each statement execute function tool_rag._after_role_parent_change();
create or replace trigger role_parent_after_delete
after delete on tool_rag.role_parent referencing old table as changed
for each statement execute function tool_rag._after_role_parent_change();
create or replace trigger role_parent_after_truncate
after truncate on tool_rag.role_parent
for each statement execute function tool_rag._after_role_parent_change();

create or replace trigger grant_rule_before_edit
before insert or update or delete or truncate on tool_rag.grant_rule
for each statement execute function tool_rag._before_edit();
create or replace trigger grant_rule_before_write
before insert or update on tool_rag.grant_rule
for each row
when (
    new.valid_from > '-infinity' or new.schedule_id is not null
    or num_nonnulls(new.weekdays, new.hours_from, new.hours_until, new.time_zone) > 0
)
execute function tool_rag._before_grant_rule_write();
create or replace trigger grant_rule_after_insert
after insert on tool_rag.grant_rule referencing new table as changed
for each statement execute function tool_rag._after_grant_rule_change();
-- What an update took away and what it brought are two changes.
create or replace trigger grant_rule_after_update_old
after update on tool_rag.grant_rule referencing old table as changed
for each statement execute function tool_rag._after_grant_rule_change();
create or replace trigger grant_rule_after_update_new
after update on tool_rag.grant_rule referencing new table as changed
for each statement execute function tool_rag._after_grant_rule_change();
create or replace trigger grant_rule_after_delete
after delete on tool_rag.grant_rule referencing old table as changed
for each statement execute function tool_rag._after_grant_rule_change();
create or replace trigger grant_rule_after_truncate
after truncate on tool_rag.grant_rule
for each statement execute function tool_rag._after_grant_rule_change();

create or replace trigger ranking_setting_before_edit
before update on tool_rag.ranking_setting
for each statement execute function tool_rag._before_edit();
create or replace trigger ranking_setting_after_update
after update on tool_rag.ranking_setting referencing new table as new_setting
old table as old_setting
for each statement execute function tool_rag._after_ranking_setting_update();

create or replace function tool_rag._before_synonym_write() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    new.term_lexemes := coalesce(tool_rag._query_terms(new.term), '{}');
    return new;
end
$$;
comment on function tool_rag._before_synonym_write() is 'Fills the derived column of a synonym.';

create or replace function tool_rag._after_synonym_change() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids int[];
begin
    -- What a tool takes along when it is removed needs no index.
    select array_agg(distinct t.tool_id) into v_ids
    from changed c
    join tool_rag.tool t on t.tool_id = c.tool_id;
    if v_ids is not null then
        perform tool_rag._index_tools(v_ids);
    end if;
    return null;
end
$$;
comment on function tool_rag._after_synonym_change() is
'Indexes the tools whose synonyms changed; those of terms are read by each search.';

create or replace function tool_rag._before_example_write() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    new.lexemes := tool_rag._query_terms(new.request);
    return new;
end
$$;
comment on function tool_rag._before_example_write() is 'Fills the derived column of an example.';

create or replace function tool_rag._after_example_write() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tool_rag._index_examples(array(select example_id from changed));
    return null;
end
$$;
comment on function tool_rag._after_example_write() is 'Computes the vectors of new examples.';

create or replace function tool_rag._after_example_delete() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from tool_rag.tool_vector v
    using changed c
    where v.tool_id = c.tool_id and v.kind = 'example' and v.source_id = c.example_id;
    return null;
end
$$;
comment on function tool_rag._after_example_delete() is 'Takes the vectors of examples away.';

create or replace trigger synonym_before_edit
before insert or update or delete on tool_rag.synonym
for each statement execute function tool_rag._before_edit();
create or replace trigger synonym_before_write
before insert or update on tool_rag.synonym
for each row execute function tool_rag._before_synonym_write();
create or replace trigger synonym_after_insert
after insert on tool_rag.synonym referencing new table as changed
for each statement execute function tool_rag._after_synonym_change();
create or replace trigger synonym_after_update_old
after update on tool_rag.synonym referencing old table as changed
for each statement execute function tool_rag._after_synonym_change();
create or replace trigger synonym_after_update_new
after update on tool_rag.synonym referencing new table as changed
for each statement execute function tool_rag._after_synonym_change();
create or replace trigger synonym_after_delete
after delete on tool_rag.synonym referencing old table as changed
for each statement execute function tool_rag._after_synonym_change();

create or replace trigger example_before_edit
before insert or update or delete on tool_rag.example
for each statement execute function tool_rag._before_edit();
create or replace trigger example_before_write
before insert or update on tool_rag.example
for each row execute function tool_rag._before_example_write();
create or replace trigger example_after_insert
after insert on tool_rag.example referencing new table as changed
for each statement execute function tool_rag._after_example_write();
create or replace trigger example_after_update_old
after update on tool_rag.example referencing old table as changed
for each statement execute function tool_rag._after_example_delete();
create or replace trigger example_after_update_zz_new
after update on tool_rag.example referencing new table as changed
for each statement execute function tool_rag._after_example_write();
create or replace trigger example_after_delete
after delete on tool_rag.example referencing old table as changed
for each statement execute function tool_rag._after_example_delete();

create or replace function tool_rag._after_dependency_write() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_cycle record;
begin
    select t.name as tool, n.name as needs into v_cycle
    from changed c
    join tool_rag.tool t on t.tool_id = c.tool_id
    join tool_rag.tool n on n.tool_id = c.needs_id
    where c.tool_id = any(tool_rag._needs(array[c.needs_id]))
    order by t.name, n.name
    limit 1;
    if found then
        raise exception 'tool "%" cannot need "%", which needs it', v_cycle.tool, v_cycle.needs
            using errcode = 'invalid_parameter_value',
            hint = 'Dependencies are without cycles.';
    end if;
    return null;
end
$$;
comment on function tool_rag._after_dependency_write() is 'Refuses cycles of dependencies.';

create or replace trigger dependency_before_edit
before insert or update on tool_rag.dependency
for each statement execute function tool_rag._before_edit();
create or replace trigger dependency_after_insert
after insert on tool_rag.dependency referencing new table as changed
for each statement execute function tool_rag._after_dependency_write();
create or replace trigger dependency_after_update
after update on tool_rag.dependency referencing new table as changed
for each statement execute function tool_rag._after_dependency_write();

create or replace function tool_rag._after_wording_truncate() returns trigger
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_table_name = 'example' then
        delete from tool_rag.tool_vector where kind = 'example';
    else
        perform tool_rag._index_tools(array(
            select distinct tool_id from tool_rag.tool_vector where kind = 'synonym'
        ));
    end if;
    return null;
end
$$;
comment on function tool_rag._after_wording_truncate() is
'Takes the index of truncated synonyms or examples away.';

create or replace trigger synonym_before_truncate
before truncate on tool_rag.synonym
for each statement execute function tool_rag._before_edit();
create or replace trigger synonym_after_truncate
after truncate on tool_rag.synonym
for each statement execute function tool_rag._after_wording_truncate();
create or replace trigger example_before_truncate
before truncate on tool_rag.example
for each statement execute function tool_rag._before_edit();
create or replace trigger example_after_truncate
after truncate on tool_rag.example
for each statement execute function tool_rag._after_wording_truncate();
