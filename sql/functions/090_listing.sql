-- Listing: what an admin sees of tools, roles, rules and wording, and taking a server out again.

create or replace function tool_rag._judge_access(p_role_ids int[], p_tool_id int)
returns table (role_id int, permitted boolean, reason text)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with recursive ancestor (role_id, ancestor_id) as (
        select r.role_id, r.role_id
        from tool_rag.role r
        where p_role_ids is null or r.role_id = any(p_role_ids)
        union
        select a.role_id, p.parent_id
        from ancestor a
        join tool_rag.role_parent p on p.role_id = a.ancestor_id
    ),
    tool as materialized (
        select s.name as server, t.name, s.enabled as server_enabled, t.enabled, t.withheld
        from tool_rag.tool t
        join tool_rag.server s on s.server_id = t.server_id
        where t.tool_id = p_tool_id
    ),
    rule as materialized (
        select g.grant_id, g.role_id, r.name as rule_role, g.server_pattern, g.tool_pattern,
            g.effect, g.valid_from, g.valid_until, g.time_zone,
            tool_rag._is_in_force(g, statement_timestamp()) as valid,
            tool_rag._write_hours(g.weekdays, g.hours_from, g.hours_until, g.time_zone) as hours
        from tool t
        cross join tool_rag.grant_rule g
        join tool_rag.role r on r.role_id = g.role_id
        where g.role_id in (select ancestor_id from ancestor)
            and tool_rag._matches(g.server_pattern, t.server)
            and tool_rag._matches(g.tool_pattern, t.name)
    ),
    -- Of each effect the rule that holds and lasts longest, or else that lasts longest: where it
    -- has ended, all have.
    longest as materialized (
        select distinct on (a.role_id, g.effect)
            a.role_id, g.effect, g.rule_role, g.server_pattern, g.tool_pattern, g.valid_from,
            g.valid_until, g.time_zone, g.valid, g.hours
        from ancestor a
        join rule g on g.role_id = a.ancestor_id
        order by a.role_id, g.effect, g.valid desc, g.valid_until desc, g.valid_from, g.grant_id
    )
    select
        r.role_id,
        t.server_enabled and t.enabled and not t.withheld and coalesce(allow.valid, false)
            and not coalesce(deny.valid, false),
        case
            when not t.server_enabled then 'the server is disabled'
            when not t.enabled then 'the tool is disabled'
            when t.withheld then 'the tool is withheld until its change is reviewed'
            when deny.valid then concat_ws(
                ', ',
                format(
                    'denied to %s by %s/%s', deny.rule_role, deny.server_pattern,
                    deny.tool_pattern
                ),
                deny.hours
            )
            when allow.valid then concat_ws(
                ', ',
                format(
                    'allowed to %s by %s/%s', allow.rule_role, allow.server_pattern,
                    allow.tool_pattern
                ),
                allow.hours
            )
            when not allow.valid then format(
                case when allow.valid_until <= statement_timestamp() then 'the grant %s/%s to %s '
                    else 'not now: the grant %s/%s to %s ' end,
                allow.server_pattern, allow.tool_pattern, allow.rule_role
            ) || case
                when allow.valid_until <= statement_timestamp()
                    then format('ended %s', allow.valid_until)
                when allow.valid_from > statement_timestamp()
                    then format('begins %s', allow.valid_from)
                when pg_input_is_valid('2000-01-01 00:00 ' || allow.time_zone, 'timestamptz')
                    then format('is outside %s', allow.hours)
                else format('has the unknown time zone %s', allow.time_zone)
            end
            else 'no rule of this role or its parents allows it'
        end
    from tool t
    cross join tool_rag.role r
    left join longest allow on allow.role_id = r.role_id and allow.effect = 'allow'
    left join longest deny on deny.role_id = r.role_id and deny.effect = 'deny'
    where p_role_ids is null or r.role_id = any(p_role_ids)
$$;
comment on function tool_rag._judge_access(int[], int) is
'What explain_access says of a tool to some roles (null: all), every rule being read once.';

create or replace function tool_rag.list_tools()
returns table (
    server text, name text, title text, description text, is_action boolean, tokens int,
    enabled boolean
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select s.name, t.name, t.title, t.description, t.is_action, t.token_count,
        t.enabled and s.enabled and not t.withheld
    from tool_rag.tool t
    join tool_rag.server s on s.server_id = t.server_id
    where tool_rag._check_unbound()
    order by s.name collate "C", t.name collate "C"
$$;
comment on function tool_rag.list_tools() is
'Every tool of the catalogue, whoever may see it. For admins; callers have permitted_tools.';

create or replace function tool_rag.describe_tool(
    server text, name text, roles text[] default null, allowed jsonb default null
) returns table (
    server text, name text, title text, description text, input_schema jsonb, output_schema jsonb,
    annotations jsonb, is_action boolean, identity_parameters text[], enabled boolean, tokens int,
    updated_at timestamptz
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with asked as materialized (
        select case
            when describe_tool.roles is null and describe_tool.allowed is null
                and tool_rag._sees_all()
            then tool_rag._find_tool(describe_tool.server, describe_tool.name)
            else (tool_rag._find_called(
                array[describe_tool.server], array[describe_tool.name], describe_tool.roles,
                describe_tool.allowed
            ))[1]
        end as tool_id
    )
    select s.name, t.name, t.title, t.description, t.input_schema, t.output_schema, t.annotations,
        t.is_action, t.identity_parameters, t.enabled and s.enabled and not t.withheld,
        t.token_count, t.updated_at
    from asked a
    join tool_rag.tool t on t.tool_id = a.tool_id
    join tool_rag.server s on s.server_id = t.server_id
$$;
comment on function tool_rag.describe_tool(text, text, text[], jsonb) is
'All that the catalogue knows of a tool that the caller may see; roles and allowed say who asks, as '
'in search_tools. Without them, whoever may list the whole catalogue is told of any tool.';

create or replace function tool_rag.list_tool_access(server text, tool text)
returns table (role text, permitted boolean, reason text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with asked as materialized (
        select tool_rag._find_tool(list_tool_access.server, list_tool_access.tool) as tool_id
        where tool_rag._check_unbound()
    )
    select r.name, j.permitted, j.reason
    from asked a
    cross join lateral tool_rag._judge_access(null, a.tool_id) j
    join tool_rag.role r on r.role_id = j.role_id
    order by r.name collate "C"
$$;
comment on function tool_rag.list_tool_access(text, text) is
'Which roles may see a tool now, and why: explain_access for every role, without the rules.';

create or replace function tool_rag.count_tools(
    roles text[] default null, allowed jsonb default null
) returns table (tools int, tokens bigint, all_tools int, all_tokens bigint)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with caller as materialized (
        select * from tool_rag._caller(count_tools.roles, count_tools.allowed, null)
    ),
    visible as materialized (
        select p.tool_id from caller c cross join lateral tool_rag._permitted(c.role_ids, null) p
        union all
        select unnest(c.gate) from caller c
    )
    select v.tools, v.tokens, a.tools, a.tokens
    from (
        select count(*)::int as tools, coalesce(sum(t.token_count), 0) as tokens
        from visible v
        join tool_rag.tool t on t.tool_id = v.tool_id
    ) v
    left join (
        select count(*)::int as tools, coalesce(sum(t.token_count), 0) as tokens
        from tool_rag.tool t
    ) a on tool_rag._sees_all()
$$;
comment on function tool_rag.count_tools(text[], jsonb) is
'How many tools roles may see now and their tokens in a prompt, beside those of the whole '
'catalogue, which only whoever may list that is told; with null the session''s own roles.';

create or replace function tool_rag.unknown_roles(names text[]) returns table (name text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with login as materialized (select l.bound from tool_rag._read_login() l)
    select n.name
    from (select distinct unnest(unknown_roles.names)) n (name)
    cross join login l
    where n.name is not null and not exists (
        select
        from tool_rag.role r
        where r.name = n.name and (
            l.bound is null
            or exists (select from unnest(l.bound) b where r.role_id = any(b::int[]))
        )
    )
    order by n.name collate "C"
$$;
comment on function tool_rag.unknown_roles(text[]) is
'Those of some names that no role has. A search takes them for roles that see nothing. To a bound '
'login only its own roles are known.';

create or replace function tool_rag.list_roles()
returns table (name text, description text, parents text[], rules int, tools int)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select
        r.name,
        r.description,
        array(
            select p.name
            from tool_rag.role_parent l
            join tool_rag.role p on p.role_id = l.parent_id
            where l.role_id = r.role_id
            order by p.name collate "C"
        ),
        coalesce(g.rules, 0),
        coalesce(s.tools, t.tools, 0)
    from tool_rag.role r
    left join (
        select role_id, count(*)::int as rules from tool_rag.grant_rule group by role_id
    ) g on g.role_id = r.role_id
    -- Roles that hold a schedule see what these permit together.
    left join lateral (
        select array_agg(w.id) as ids
        from unnest(tool_rag._with_schedules(array[r.role_id])) w (id)
        where exists (select from tool_rag.role_schedule)
        having count(*) > 1
    ) w on true
    left join lateral (
        select count(*)::int as tools from tool_rag._permitted(w.ids, null)
        having w.ids is not null
    ) s on true
    left join (
        select role_id, count(*)::int as tools
        from tool_rag.role_tool
        where allow_until > statement_timestamp() and deny_until <= statement_timestamp()
        group by role_id
    ) t on t.role_id = r.role_id
    where tool_rag._check_unbound()
    order by r.name collate "C"
$$;
comment on function tool_rag.list_roles() is
'Every role with its parents, the number of its own rules, and of the tools that it may see now.';

create or replace function tool_rag.list_rules(role text default null)
returns table (
    rule_role text, server_pattern text, tool_pattern text, effect text, valid_until timestamptz,
    valid boolean, valid_from timestamptz, hours text
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with recursive ancestor (role_id, distance) as (
        select tool_rag._find_role(list_rules.role), 0
        where list_rules.role is not null and tool_rag._check_unbound()
        union
        select p.parent_id, a.distance + 1
        from ancestor a
        join tool_rag.role_parent p on p.role_id = a.role_id
    ),
    holder as (
        select role_id, min(distance) as distance from ancestor group by role_id
        union all
        select role_id, 0 from tool_rag.role where list_rules.role is null
    )
    select r.name, g.server_pattern, g.tool_pattern, g.effect, nullif(g.valid_until, 'infinity'),
        tool_rag._is_in_force(g, statement_timestamp()), nullif(g.valid_from, '-infinity'), w.hours
    from holder h
    join tool_rag.role r on r.role_id = h.role_id
    join tool_rag.grant_rule g on g.role_id = h.role_id
    cross join lateral tool_rag._write_hours(
        g.weekdays, g.hours_from, g.hours_until, g.time_zone
    ) w (hours)
    where tool_rag._check_unbound()
    order by h.distance, r.name collate "C", g.effect desc, g.server_pattern collate "C",
        g.tool_pattern collate "C", g.valid_from, w.hours collate "C" nulls first
$$;
comment on function tool_rag.list_rules(text) is
'The rules of a role, its own first and then those that it inherits, the nearest role first; with '
'null the rules of all roles. Of each role denies come first; rule_role says whose a rule is, valid '
'whether it holds now.';

create or replace function tool_rag.list_synonyms(
    server text default null, tool text default null
) returns table (server text, tool text, term text, words text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select s.name, t.name, y.term, y.words
    from tool_rag.synonym y
    left join tool_rag.tool t on t.tool_id = y.tool_id
    left join tool_rag.server s on s.server_id = t.server_id
    where tool_rag._check_unbound()
        and (list_synonyms.server is null or s.name = list_synonyms.server)
        and (list_synonyms.tool is null or t.name = list_synonyms.tool)
    order by s.name collate "C" nulls first, t.name collate "C", y.term collate "C",
        y.words collate "C"
$$;
comment on function tool_rag.list_synonyms(text, text) is
'Synonyms of terms, then those of tools; with a server or a tool only theirs. For admins.';

create or replace function tool_rag.list_examples(
    server text default null, tool text default null, origin text default null
) returns table (server text, tool text, request text, origin text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select s.name, t.name, e.request, e.origin
    from tool_rag.example e
    join tool_rag.tool t on t.tool_id = e.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    where tool_rag._check_unbound()
        and (list_examples.server is null or s.name = list_examples.server)
        and (list_examples.tool is null or t.name = list_examples.tool)
        and (list_examples.origin is null or e.origin = list_examples.origin)
    order by s.name collate "C", t.name collate "C", e.request collate "C"
$$;
comment on function tool_rag.list_examples(text, text, text) is
'Requests that tools serve; with a server, a tool or an origin only theirs. For admins.';

create or replace function tool_rag.list_dependencies()
returns table (server text, tool text, needs_server text, needs_tool text, reason text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select s.name, t.name, o.name, n.name, d.reason
    from tool_rag.dependency d
    join tool_rag.tool t on t.tool_id = d.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    join tool_rag.tool n on n.tool_id = d.needs_id
    join tool_rag.server o on o.server_id = n.server_id
    where tool_rag._check_unbound()
    order by s.name collate "C", t.name collate "C", o.name collate "C", n.name collate "C"
$$;
comment on function tool_rag.list_dependencies() is
'Which tools need which others, and why. For admins.';

create or replace function tool_rag.remove_server(name text) returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_server_id int;
    v_count int;
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    select s.server_id into v_server_id from tool_rag.server s where s.name = remove_server.name;
    if not found then
        raise exception 'server "%" does not exist', remove_server.name using
            errcode = 'undefined_object',
            hint = 'See what there is: select * from tool_rag.list_tools(), or: '
                'tool-rag tools list.';
    end if;
    delete from tool_rag.tool t where t.server_id = v_server_id;
    get diagnostics v_count = row_count;
    delete from tool_rag.server s where s.server_id = v_server_id;
    return v_count;
end
$$;
comment on function tool_rag.remove_server(text) is
'Removes a server with its tools; returns how many these were. Rules stay: they fit the server '
'again when it comes back.';

create or replace view tool_rag.my_tools with (security_barrier) as
select p.server, p.name, p.title, p.description, p.is_action, p.tokens
from tool_rag.permitted_tools(null::text[], null::jsonb) p;
comment on view tool_rag.my_tools is
'The tools that this session may see now, by its setting tool_rag.roles, its token or its login.';
