-- Access: who may see which tool. Everything that returns tools asks role_tool.

create or replace function tool_rag._matches(p_pattern text, p_name text) returns boolean
language sql immutable parallel safe
return p_name like replace(
    replace(replace(replace(p_pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'
);
comment on function tool_rag._matches(text, text) is
'Whether a name fits a pattern in which "*" is any run of characters and all else itself.';

create or replace function tool_rag._match_tools(
    p_server_patterns text[], p_tool_patterns text[], p_tool_ids int[]
) returns table (rule bigint, server_id int, tool_id int)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    -- Names without a wildcard are joined as equals: a role may have tens of thousands of them.
    with pattern as materialized (
        select p.rule, p.server, p.tool,
            strpos(p.server, '*') = 0 as server_is_name, strpos(p.tool, '*') = 0 as tool_is_name
        from unnest(p_server_patterns, p_tool_patterns) with ordinality p (server, tool, rule)
    ),
    served as materialized (
        select p.rule, p.tool, p.tool_is_name, s.server_id
        from pattern p
        join tool_rag.server s on s.name = p.server
        where p.server_is_name and s.enabled
        union all
        select p.rule, p.tool, p.tool_is_name, s.server_id
        from pattern p
        join tool_rag.server s on tool_rag._matches(p.server, s.name)
        where not p.server_is_name and s.enabled
    ),
    listed as materialized (
        select t.tool_id, t.server_id, t.name
        from tool_rag.tool t
        where t.enabled and not t.withheld and (p_tool_ids is null or t.tool_id = any(p_tool_ids))
    )
    select v.rule, l.server_id, l.tool_id
    from served v
    join listed l on l.server_id = v.server_id and l.name = v.tool
    where v.tool_is_name
    union all
    select v.rule, l.server_id, l.tool_id
    from served v
    join listed l on l.server_id = v.server_id
    where not v.tool_is_name and tool_rag._matches(v.tool, l.name)
$$;
comment on function tool_rag._match_tools(text[], text[], int[]) is
'Which enabled tools that are not withheld (of some; null: of all) fit which pairs of patterns, these by their position.';

create or replace function tool_rag._descendants(p_role_ids int[]) returns int[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    with recursive descendant (role_id) as (
        select unnest(p_role_ids)
        union
        select p.role_id from descendant d join tool_rag.role_parent p on p.parent_id = d.role_id
    )
    select coalesce(array_agg(role_id order by role_id), '{}') from descendant
$$;
comment on function tool_rag._descendants(int[]) is 'Roles and all that inherit from them.';

create or replace function tool_rag._expand_access(p_role_ids int[], p_tool_ids int[])
returns table (
    role_id int, tool_id int, server_id int, grant_id int, allow_until timestamptz,
    deny_until timestamptz
)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    -- Null stands for all of them.
    with recursive ancestor (role_id, ancestor_id) as (
        select r.role_id, r.role_id
        from tool_rag.role r
        where p_role_ids is null or r.role_id = any(p_role_ids)
        union
        select a.role_id, p.parent_id
        from ancestor a
        join tool_rag.role_parent p on p.role_id = a.ancestor_id
    ),
    -- The rules without a schedule are for whoever inherits them; of the others each schedule
    -- stands for itself, and heirs hold it.
    holder as materialized (
        select a.role_id as holder_id, a.ancestor_id as role_id, 0 as schedule_id
        from ancestor a
        union all
        select s.schedule_id, s.role_id, s.schedule_id
        from tool_rag.role_schedule s
        where p_role_ids is null or s.role_id = any(p_role_ids)
    ),
    rule as materialized (
        select g.grant_id, g.role_id, coalesce(g.schedule_id, 0) as schedule_id,
            g.server_pattern, g.tool_pattern, g.effect, g.valid_until,
            row_number() over (order by g.grant_id) as place
        from tool_rag.grant_rule g
        where (g.role_id, coalesce(g.schedule_id, 0)) in (
            select h.role_id, h.schedule_id from holder h
        )
    ),
    match as materialized (
        select m.*
        from (
            select array_agg(server_pattern order by place) as servers,
                array_agg(tool_pattern order by place) as tools
            from rule
        ) p
        cross join lateral tool_rag._match_tools(p.servers, p.tools, p_tool_ids) m
    )
    select
        h.holder_id,
        m.tool_id,
        m.server_id,
        (array_agg(g.grant_id order by g.valid_until desc, g.grant_id)
            filter (where g.effect = 'allow'))[1],
        coalesce(max(g.valid_until) filter (where g.effect = 'allow'), '-infinity'),
        coalesce(max(g.valid_until) filter (where g.effect = 'deny'), '-infinity')
    from match m
    join rule g on g.place = m.rule
    join holder h on h.role_id = g.role_id and h.schedule_id = g.schedule_id
    group by h.holder_id, m.tool_id, m.server_id
$$;
comment on function tool_rag._expand_access(int[], int[]) is
'What role_tool holds, computed from the rules, for some roles, with their schedules, and tools '
'(null: all).';

create or replace function tool_rag._refresh_access(p_role_ids int[], p_tool_ids int[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_holder_ids constant int[] := p_role_ids || array(
        select s.schedule_id from tool_rag.role_schedule s where s.role_id = any(p_role_ids)
    );
begin
    with wanted as materialized (
        select * from tool_rag._expand_access(p_role_ids, p_tool_ids)
    ),
    gone as (
        delete from tool_rag.role_tool h
        where (p_role_ids is null or h.role_id = any(v_holder_ids))
            and (p_tool_ids is null or h.tool_id = any(p_tool_ids))
            and not exists (
                select from wanted w where w.role_id = h.role_id and w.tool_id = h.tool_id
            )
    )
    insert into tool_rag.role_tool as h (
        role_id, tool_id, server_id, grant_id, allow_until, deny_until
    )
    select w.role_id, w.tool_id, w.server_id, w.grant_id, w.allow_until, w.deny_until
    from wanted w
    on conflict (role_id, tool_id) do update
    set server_id = excluded.server_id,
        grant_id = excluded.grant_id,
        allow_until = excluded.allow_until,
        deny_until = excluded.deny_until
    where (h.server_id, h.grant_id, h.allow_until, h.deny_until)
        is distinct from
        (excluded.server_id, excluded.grant_id, excluded.allow_until, excluded.deny_until);
end
$$;
comment on function tool_rag._refresh_access(int[], int[]) is
'Makes role_tool equal to the rules for some roles, with their schedules, and tools (null: all).';

create or replace function tool_rag._server_ids(p_patterns text[]) returns int[]
language sql stable parallel safe strict
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(s.server_id), '{}')
    from tool_rag.server s
    where exists (select from unnest(p_patterns) p where tool_rag._matches(p, s.name))
$$;
comment on function tool_rag._server_ids(text[]) is
'The servers whose names fit any of some patterns; null, which means all, where there are none.';

create or replace function tool_rag._permitted(p_role_ids int[], p_server_ids int[])
returns table (tool_id int, grant_id int)
language sql stable parallel safe
as $$
    select r.tool_id, min(r.grant_id) filter (where r.allow_until > statement_timestamp())
    from tool_rag.role_tool r
    where r.role_id = any(p_role_ids) and (p_server_ids is null or r.server_id = any(p_server_ids))
    group by r.tool_id
    having max(r.allow_until) > statement_timestamp()
        and max(r.deny_until) <= statement_timestamp()
$$;
comment on function tool_rag._permitted(int[], int[]) is
'The tools that roles together may see now, of some servers (null: all), each with a grant: an '
'allow of any role holds and a deny of none does. Without a SET clause so that it is inlined; '
'every name in it is qualified or of pg_catalog.';

create or replace function tool_rag._find_role(p_name text) returns int
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_role_id int;
begin
    select r.role_id into v_role_id from tool_rag.role r where r.name = p_name;
    if not found then
        raise exception 'role "%" does not exist', p_name using
            errcode = 'undefined_object',
            hint = 'Create it: select tool_rag.add_role(''name''), or: tool-rag roles add NAME.';
    end if;
    return v_role_id;
end
$$;
comment on function tool_rag._find_role(text) is
'A role''s id, or an error that says how to make it.';

create or replace function tool_rag.add_role(
    name text, parents text[] default '{}', description text default null
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_role_id int;
    v_new boolean := false;
begin
    perform tool_rag._check_unbound();
    if coalesce(add_role.name, '') = '' or length(add_role.name) > 256
        or add_role.name ~ '[,{}"]'
    then
        raise exception 'a role''s name has 1 to 256 characters, without comma, brace and quote'
            using errcode = 'invalid_parameter_value',
            hint = 'Lists of roles are written with these.';
    end if;
    perform tool_rag._lock_catalogue();
    select r.role_id into v_role_id from tool_rag.role r where r.name = add_role.name;
    if not found then
        insert into tool_rag.role (name, description)
        values (add_role.name, add_role.description)
        returning role_id into v_role_id;
        v_new := true;
    elsif add_role.description is not null then
        update tool_rag.role r set description = add_role.description where r.role_id = v_role_id;
    end if;
    insert into tool_rag.role_parent (role_id, parent_id)
    select v_role_id, tool_rag._find_role(parent)
    from unnest(coalesce(add_role.parents, '{}')) parent
    on conflict do nothing;
    return v_new;
end
$$;
comment on function tool_rag.add_role(text, text[], text) is
'Creates a role, or adds parents to one that exists; true where it is new.';

create or replace function tool_rag.remove_role(name text) returns void
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tool_rag._check_unbound();
    delete from tool_rag.role r where r.role_id = tool_rag._find_role(remove_role.name);
end
$$;
comment on function tool_rag.remove_role(text) is 'Removes a role, its rules and its inheritance.';

create or replace function tool_rag.grant_tools(
    role text, server_pattern text, tool_pattern text default '*', effect text default 'allow',
    valid_until timestamptz default null, valid_from timestamptz default null,
    hours text default null
) returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_hours record;
begin
    perform tool_rag._check_unbound();
    if grant_tools.effect is null or grant_tools.effect not in ('allow', 'deny') then
        raise exception 'effect is % instead of allow or deny',
            coalesce(quote_literal(grant_tools.effect), 'null')
            using errcode = 'invalid_parameter_value',
            hint = 'An allow permits tools, a deny takes them away again.';
    end if;
    if coalesce(grant_tools.server_pattern, '') = '' or grant_tools.server_pattern ~ '/'
        or coalesce(grant_tools.tool_pattern, '') = ''
        or greatest(length(grant_tools.server_pattern), length(grant_tools.tool_pattern)) > 256
    then
        raise exception 'a rule needs a pattern of server names without "/" and one of tool names, '
            'each of at most 256 characters'
            using errcode = 'invalid_parameter_value',
            hint = '"*" stands for any run of characters: ''github'', ''get_*''.';
    elsif grant_tools.valid_from > '-infinity'
        and grant_tools.valid_from >= grant_tools.valid_until
    then
        raise exception 'the rule would begin at %, not before its end', grant_tools.valid_from
            using errcode = 'invalid_parameter_value',
            hint = 'Let valid_until be later than valid_from, or leave it out.';
    end if;
    v_hours := tool_rag._read_hours(grant_tools.hours);
    perform tool_rag._lock_catalogue();
    insert into tool_rag.grant_rule as g (
        role_id, server_pattern, tool_pattern, effect, valid_until, valid_from, weekdays,
        hours_from, hours_until, time_zone
    )
    values (
        tool_rag._find_role(grant_tools.role), grant_tools.server_pattern,
        grant_tools.tool_pattern, grant_tools.effect,
        coalesce(grant_tools.valid_until, 'infinity'),
        coalesce(grant_tools.valid_from, '-infinity'), v_hours.weekdays, v_hours.hours_from,
        v_hours.hours_until, v_hours.time_zone
    )
    on conflict on constraint grant_rule_key do update set valid_until = excluded.valid_until
    where g.valid_until <> excluded.valid_until;
    return (
        select count(*)
        from tool_rag.tool t
        join tool_rag.server s on s.server_id = t.server_id
        where tool_rag._matches(grant_tools.server_pattern, s.name)
            and tool_rag._matches(grant_tools.tool_pattern, t.name)
    );
end
$$;
comment on function tool_rag.grant_tools(
    text, text, text, text, timestamptz, timestamptz, text
) is
'Adds a rule, or changes its end where the same rule, with the same beginning and hours, stands '
'already; returns how many tools of today''s catalogue its patterns fit. It holds from valid_from '
'(null: at once) until valid_until (null: without end), and only in hours as '
'''Mon-Fri 09:00-17:00 Europe/Berlin'' (null: in all). A deny that holds wins over any allow.';

create or replace function tool_rag.revoke_tools(
    role text, server_pattern text, tool_pattern text default '*', effect text default null,
    valid_from timestamptz default null, hours text default null
) returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_hours record;
    v_count int;
begin
    perform tool_rag._check_unbound();
    v_hours := tool_rag._read_hours(revoke_tools.hours);
    perform tool_rag._lock_catalogue();
    delete from tool_rag.grant_rule g
    where g.role_id = tool_rag._find_role(revoke_tools.role)
        and g.server_pattern = revoke_tools.server_pattern
        and g.tool_pattern = revoke_tools.tool_pattern
        and (revoke_tools.effect is null or g.effect = revoke_tools.effect)
        and (revoke_tools.valid_from is null or g.valid_from = revoke_tools.valid_from)
        and (
            revoke_tools.hours is null
            or (g.weekdays, g.hours_from, g.hours_until, g.time_zone) is not distinct from
                (v_hours.weekdays, v_hours.hours_from, v_hours.hours_until, v_hours.time_zone)
        );
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function tool_rag.revoke_tools(text, text, text, text, timestamptz, text) is
'Removes the rules with exactly these patterns (of one effect, or with null of both), whatever their '
'beginning and hours, or only those with a certain one (''-infinity'', ''always'': with none); '
'returns how many. To take single tools out of a wider grant, add a deny.';

create or replace function tool_rag._check_rules(p_rules jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_place bigint;
    v_fault text;
begin
    if jsonb_typeof(p_rules) is distinct from 'array' then
        raise exception 'rules is not a JSON array' using
            errcode = 'invalid_parameter_value',
            hint = 'Pass [{"role": "support", "server_pattern": "shop", "tool_pattern": "*", '
                '"effect": "allow"}].';
    end if;
    select f.place, f.fault into v_place, v_fault
    from (
        -- Each text once: to read a time zone takes a while.
        with hours as materialized (
            select h.text, p.fault,
                tool_rag._write_hours(
                    p.weekdays, p.hours_from, p.hours_until, p.time_zone
                ) as written
            from (
                select distinct r.rule ->> 'hours' as text
                from jsonb_array_elements(p_rules) r (rule)
                where jsonb_typeof(r.rule -> 'hours') = 'string'
            ) h
            cross join lateral tool_rag._parse_hours(h.text) p
        ),
        read as (
            select r.rule, r.place, h.fault as hours_fault, h.written,
                case when pg_input_is_valid(r.rule ->> 'valid_from', 'timestamptz')
                    then (r.rule ->> 'valid_from')::timestamptz end as valid_from,
                case when pg_input_is_valid(r.rule ->> 'valid_until', 'timestamptz')
                    then (r.rule ->> 'valid_until')::timestamptz end as valid_until
            from jsonb_array_elements(p_rules) with ordinality r (rule, place)
            left join hours h on h.text = r.rule ->> 'hours'
        )
        select r.place, case
            when jsonb_typeof(r.rule) <> 'object' then ' is not an object'
            when exists (
                select
                from jsonb_object_keys(r.rule) k (key)
                where k.key <> all('{
                    role,server_pattern,tool_pattern,effect,valid_until,valid_from,hours
                }'::text[])
            ) then ' has a key other than role, server_pattern, tool_pattern, effect, valid_from, '
                'valid_until and hours'
            when jsonb_typeof(r.rule -> 'role') is distinct from 'string'
                then '.role is not a text'
            when jsonb_typeof(r.rule -> 'server_pattern') is distinct from 'string'
                or r.rule ->> 'server_pattern' = '' or length(r.rule ->> 'server_pattern') > 256
                or r.rule ->> 'server_pattern' ~ '/'
                then '.server_pattern is not a text of 1 to 256 characters without "/"'
            when jsonb_typeof(r.rule -> 'tool_pattern') is distinct from 'string'
                or r.rule ->> 'tool_pattern' = '' or length(r.rule ->> 'tool_pattern') > 256
                then '.tool_pattern is not a text of 1 to 256 characters'
            when r.rule ->> 'effect' is null or r.rule ->> 'effect' not in ('allow', 'deny')
                then '.effect is neither allow nor deny'
            when coalesce(jsonb_typeof(r.rule -> 'valid_until'), 'null') <> 'null' and (
                jsonb_typeof(r.rule -> 'valid_until') <> 'string'
                or not pg_input_is_valid(r.rule ->> 'valid_until', 'timestamptz')
            ) then '.valid_until is neither null nor a time'
            when coalesce(jsonb_typeof(r.rule -> 'valid_from'), 'null') <> 'null' and (
                jsonb_typeof(r.rule -> 'valid_from') <> 'string' or r.valid_from is null
            ) then '.valid_from is neither null nor a time'
            when r.valid_from > '-infinity' and r.valid_from >= r.valid_until
                then '.valid_from is not before its end'
            when coalesce(jsonb_typeof(r.rule -> 'hours'), 'null') not in ('null', 'string')
                then '.hours is neither null nor a text'
            when r.hours_fault is not null then '.hours ' || r.hours_fault
            when row_number() over (
                partition by case jsonb_typeof(r.rule) when 'object' then
                    r.rule - '{valid_until,valid_from,hours}'::text[]
                end, coalesce(r.valid_from, '-infinity'), r.written
                order by r.place
            ) > 1 then ' stands above already'
        end as fault
        from read r
    ) f
    where f.fault is not null
    order by f.place
    limit 1;
    if found then
        raise exception 'rules[%]%', v_place - 1, v_fault using
            errcode = 'invalid_parameter_value',
            hint = 'Correct that rule; nothing was changed.';
    end if;
end
$$;
comment on function tool_rag._check_rules(jsonb) is
'Refuses rules that store_rules can''t store, and names the first.';

create or replace function tool_rag.store_rules(
    rules jsonb, replaced_roles text[] default '{}'
) returns table (
    change text, role text, server_pattern text, tool_pattern text, effect text,
    former_until timestamptz, valid_until timestamptz, valid_from timestamptz, hours text
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
as $$
begin
    perform tool_rag._check_unbound();
    perform tool_rag._check_rules(store_rules.rules);
    if array_position(store_rules.replaced_roles, null) is not null then
        raise exception 'replaced_roles holds a null' using
            errcode = 'invalid_parameter_value',
            hint = 'Name the roles whose other rules go: ''{support}''.';
    end if;
    perform tool_rag._lock_catalogue();
    -- Here, since below nobody asks for them where there is no rule to remove.
    perform tool_rag._find_role(n.name) from unnest(store_rules.replaced_roles) n (name);
    return query
    with read as materialized (
        select h.text, p.*,
            tool_rag._write_hours(p.weekdays, p.hours_from, p.hours_until, p.time_zone) as written
        from (
            select distinct e.rule ->> 'hours' as text
            from jsonb_array_elements(store_rules.rules) e (rule)
        ) h
        cross join lateral tool_rag._parse_hours(h.text) p
    ),
    wanted as materialized (
        select n.role_id, r.rule ->> 'server_pattern' as server_pattern,
            r.rule ->> 'tool_pattern' as tool_pattern, r.rule ->> 'effect' as effect,
            coalesce((r.rule ->> 'valid_until')::timestamptz, 'infinity') as valid_until,
            coalesce((r.rule ->> 'valid_from')::timestamptz, '-infinity') as valid_from,
            h.weekdays, h.hours_from, h.hours_until, h.time_zone, coalesce(h.written, '') as hours
        from jsonb_array_elements(store_rules.rules) r (rule)
        left join read h on h.text = r.rule ->> 'hours'
        join (
            select u.name, tool_rag._find_role(u.name) as role_id
            from (
                select distinct e.rule ->> 'role' as name
                from jsonb_array_elements(store_rules.rules) e (rule)
            ) u
        ) n on n.name = r.rule ->> 'role'
    ),
    replaced as materialized (
        select o.role_id from tool_rag.role o where o.name = any(store_rules.replaced_roles)
    ),
    former as materialized (
        select g.*
        from tool_rag.grant_rule g
        where g.role_id in (select w.role_id from wanted w)
    ),
    removed as (
        delete from tool_rag.grant_rule g
        where g.role_id in (select p.role_id from replaced p) and not exists (
            select
            from wanted w
            where (w.role_id, w.server_pattern, w.tool_pattern, w.effect, w.valid_from, w.hours)
                = (
                    g.role_id, g.server_pattern, g.tool_pattern, g.effect, g.valid_from,
                    coalesce(tool_rag._write_hours(
                        g.weekdays, g.hours_from, g.hours_until, g.time_zone
                    ), '')
                )
        )
        returning g.*
    ),
    stored as (
        insert into tool_rag.grant_rule as g (
            role_id, server_pattern, tool_pattern, effect, valid_until, valid_from, weekdays,
            hours_from, hours_until, time_zone
        )
        select w.role_id, w.server_pattern, w.tool_pattern, w.effect, w.valid_until, w.valid_from,
            w.weekdays, w.hours_from, w.hours_until, w.time_zone
        from wanted w
        on conflict on constraint grant_rule_key do update set valid_until = excluded.valid_until
        where g.valid_until <> excluded.valid_until
        returning g.*
    ),
    changed as (
        select 'removed' as change, d.role_id, d.server_pattern, d.tool_pattern, d.effect,
            d.valid_until as former_until, null as valid_until, d.valid_from, d.weekdays,
            d.hours_from, d.hours_until, d.time_zone
        from removed d
        union all
        select case when f.grant_id is null then 'added' else 'changed' end, s.role_id,
            s.server_pattern, s.tool_pattern, s.effect, f.valid_until, s.valid_until, s.valid_from,
            s.weekdays, s.hours_from, s.hours_until, s.time_zone
        from stored s
        left join former f on f.grant_id = s.grant_id
    )
    select c.change, o.name, c.server_pattern, c.tool_pattern, c.effect,
        nullif(c.former_until, 'infinity'), nullif(c.valid_until, 'infinity'),
        nullif(c.valid_from, '-infinity'), w.hours
    from changed c
    join tool_rag.role o on o.role_id = c.role_id
    cross join lateral tool_rag._write_hours(
        c.weekdays, c.hours_from, c.hours_until, c.time_zone
    ) w (hours)
    order by o.name collate "C", c.server_pattern collate "C", c.tool_pattern collate "C",
        c.effect, c.valid_from, w.hours collate "C" nulls first;
end
$$;
comment on function tool_rag.store_rules(jsonb, text[]) is
'Adds many rules, or changes their end where they stand already with the same beginning and hours, '
'all or none; of replaced_roles all other rules go. Returns what changed: added, changed or removed, '
'with the end before and after.';

create or replace function tool_rag.permitted_tools(
    roles text[] default null, allowed jsonb default null
) returns table (
    server text, name text, title text, description text, is_action boolean, tokens int
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with caller as materialized (
        select * from tool_rag._caller(permitted_tools.roles, permitted_tools.allowed, null)
    ),
    visible as (
        select p.tool_id from caller c cross join lateral tool_rag._permitted(c.role_ids, null) p
        union all
        select unnest(c.gate) from caller c
    )
    select s.name, t.name, t.title, t.description, t.is_action, t.token_count
    from visible v
    join tool_rag.tool t on t.tool_id = v.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    order by s.name collate "C", t.name collate "C"
$$;
comment on function tool_rag.permitted_tools(text[], jsonb) is
'Every tool that roles may see now; with null the session''s own roles. allowed, as '
'{"server": {"tools": ["name", ...]}}, takes away all others.';

create or replace function tool_rag.permitted_servers(
    roles text[] default null, allowed jsonb default null
) returns table (server text, title text, description text, tools int, actions int)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with caller as materialized (
        select * from tool_rag._caller(permitted_servers.roles, permitted_servers.allowed, null)
    ),
    visible as (
        select p.tool_id from caller c cross join lateral tool_rag._permitted(c.role_ids, null) p
        union all
        select unnest(c.gate) from caller c
    ),
    counted as (
        select t.server_id, count(*)::int as tools,
            (count(*) filter (where t.is_action))::int as actions
        from visible v
        join tool_rag.tool t on t.tool_id = v.tool_id
        group by t.server_id
    )
    select s.name, s.title, s.description, c.tools, c.actions
    from counted c
    join tool_rag.server s on s.server_id = c.server_id
    order by s.name collate "C"
$$;
comment on function tool_rag.permitted_servers(text[], jsonb) is
'The servers of which roles may see a tool now, and of how many; actions are those that may change '
'something. Arguments as in permitted_tools.';

create or replace function tool_rag.explain_access(role text, server text, tool text)
returns table (
    permitted boolean, reason text, rule_role text, server_pattern text, tool_pattern text,
    effect text, valid_until timestamptz, valid boolean, valid_from timestamptz, hours text
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with asked as materialized (
        select tool_rag._find_role(explain_access.role) as role_id,
            tool_rag._find_tool(explain_access.server, explain_access.tool) as tool_id
        where tool_rag._check_unbound()
    )
    select j.permitted, j.reason, r.rule_role, r.server_pattern, r.tool_pattern, r.effect,
        nullif(r.valid_until, 'infinity'), r.valid, nullif(r.valid_from, '-infinity'), r.hours
    from asked a
    cross join lateral tool_rag._judge_access(array[a.role_id], a.tool_id) j
    left join lateral tool_rag._rules_on(
        a.role_id, explain_access.server, explain_access.tool
    ) r on true
    order by r.effect desc, r.valid desc, r.valid_until desc, r.grant_id
$$;
comment on function tool_rag.explain_access(text, text, text) is
'Why a role may or may not see a tool: the verdict, and beside it every rule of the role and its '
'parents that fits the tool, denies first. For admins: it tells what exists.';

create or replace function tool_rag._rules_on(p_role_id int, p_server text, p_tool text)
returns table (
    grant_id int, rule_role text, server_pattern text, tool_pattern text, effect text,
    valid_until timestamptz, valid boolean, valid_from timestamptz, hours text
)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    with recursive ancestor (role_id) as (
        select p_role_id
        union
        select p.parent_id from ancestor a join tool_rag.role_parent p on p.role_id = a.role_id
    )
    select g.grant_id, r.name, g.server_pattern, g.tool_pattern, g.effect, g.valid_until,
        tool_rag._is_in_force(g, statement_timestamp()), g.valid_from,
        tool_rag._write_hours(g.weekdays, g.hours_from, g.hours_until, g.time_zone)
    from ancestor a
    join tool_rag.role r on r.role_id = a.role_id
    join tool_rag.grant_rule g on g.role_id = a.role_id
    where tool_rag._matches(g.server_pattern, p_server)
        and tool_rag._matches(g.tool_pattern, p_tool)
$$;
comment on function tool_rag._rules_on(int, text, text) is
'The rules of a role and its ancestors that fit a tool; valid: in force now.';
