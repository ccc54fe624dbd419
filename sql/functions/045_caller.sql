-- Who asks: the one way by which roles, settings, tokens and logins become a set of tools. The
-- functions that callers use run as their owner (security definer), since callers read no table;
-- each of them asks _caller, or is refused to whoever is bound.

create or replace function tool_rag._role_ids(p_names text[]) returns int[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    -- A role that does not exist permits nothing, and neither does an empty or missing list.
    select coalesce(array_agg(r.role_id order by r.role_id), '{}')
    from tool_rag.role r
    where r.name = any(p_names)
$$;
comment on function tool_rag._role_ids(text[]) is 'The roles of these names, as far as they exist.';

create or replace function tool_rag._read_login(out bound text[], out is_trusted boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Neither changes while a function runs as its owner.
    v_login constant text := session_user;
    v_set constant text := nullif(current_setting('role', true), 'none');
begin
    if v_set is not null and to_regrole(quote_ident(v_set)) is null then
        -- It was renamed or dropped after SET ROLE: what binds it can't be told.
        bound := '{"{}"}';
        is_trusted := false;
        return;
    end if;
    with person as materialized (
        select r.rolname::text as name, r.oid, r.rolsuper
        from unnest(array[v_login, v_set]) u (name)
        join pg_roles r on r.rolname = u.name
    ),
    binding as (
        select l.login_id
        from tool_rag.login l
        where l.is_bound and exists (
            select
            from person p
            where l.name = p.name or l.role_oid = p.oid
                -- A superuser counts as a member of every role.
                or not p.rolsuper and (
                    pg_has_role(p.oid, l.role_oid, 'usage')
                    or pg_has_role(p.oid, to_regrole(quote_ident(l.name))::oid, 'usage')
                )
        )
    )
    select array_agg(
        (
            select coalesce(array_agg(r.role_id order by r.role_id), '{}')::text
            from tool_rag.login_role r
            where r.login_id = b.login_id
        )
        order by b.login_id
    )
    into bound
    from binding b;
    is_trusted := exists (
        select
        from tool_rag.login l
        where l.is_trusted and l.name = coalesce(v_set, v_login)
            and l.role_oid = to_regrole(quote_ident(l.name))::oid
    );
end
$$;
comment on function tool_rag._read_login() is
'What holds for the login of this session and the role that it has set (SET ROLE): the bindings of '
'both and of all roles whose privileges they inherit, each as the text of an array of roles; and '
'whether it, or the role where one is set, is trusted.';

create or replace function tool_rag._token_roles(p_token text) returns text[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_path constant text[] := (select s.roles_claim from tool_rag.access_setting s);
    v_claims jsonb;
    v_claim jsonb;
begin
    if pg_input_is_valid(p_token, 'jsonb') then
        v_claims := p_token::jsonb;
    end if;
    if jsonb_typeof(v_claims) is distinct from 'object' then
        raise exception 'the setting request.jwt.claims is not a JSON object' using
            errcode = 'invalid_parameter_value',
            hint = 'Set it to the claims of the token that was checked, or leave it unset.';
    end if;
    v_claim := v_claims #> v_path;
    if coalesce(jsonb_typeof(v_claim), 'null') = 'null' then
        return null;
    elsif jsonb_typeof(v_claim) = 'string' then
        return array[v_claim #>> '{}'];
    elsif jsonb_typeof(v_claim) <> 'array'
        or jsonb_path_exists(v_claim, 'strict $[*] ? (@.type() != "string")')
    then
        raise exception 'the claim "%" is neither a role nor a list of roles',
            array_to_string(v_path, '.')
            using errcode = 'invalid_parameter_value',
            hint = 'Let the token say it as ["support"], or name another claim: '
                'tool_rag.set_roles_claim(''{app_metadata,roles}'').';
    end if;
    return array(select jsonb_array_elements_text(v_claim));
end
$$;
comment on function tool_rag._token_roles(text) is
'The roles that the claims of a token name; null where it has no such claim, an error where they '
'can''t be read.';

create or replace function tool_rag._allowed_ids(p_allowed jsonb, p_server_ids int[]) returns int[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with named as materialized (
        select s.server_id, n.name
        from jsonb_each(p_allowed) a (server, entry)
        cross join lateral jsonb_array_elements_text(a.entry -> 'tools') n (name)
        join tool_rag.server s on s.name = a.server
        where s.enabled and (p_server_ids is null or s.server_id = any(p_server_ids))
    ),
    -- In two parts, so that names are looked up and servers are read as a whole.
    listed as (
        select t.tool_id
        from named n
        join tool_rag.tool t on t.server_id = n.server_id and t.name = n.name
        where t.enabled and not t.withheld
        union all
        select t.tool_id
        from named n
        join tool_rag.tool t on t.server_id = n.server_id
        where n.name = '*' and t.enabled and not t.withheld
    )
    select coalesce(array_agg(distinct l.tool_id), '{}') from listed l
$$;
comment on function tool_rag._allowed_ids(jsonb, int[]) is
'The enabled tools, not withheld, that {"server": {"tools": ["name", ...]}} lists, of some servers (null: all); '
'"*" as a name stands for all tools of its server.';

create or replace function tool_rag._check_allowed(p_allowed jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_server text;
    v_hint constant text :=
        'Pass what the user may use as {"SERVER": {"tools": ["NAME", ...]}}, or leave it out.';
begin
    if jsonb_typeof(p_allowed) <> 'object' then
        raise exception 'allowed is not a JSON object' using
            errcode = 'invalid_parameter_value', hint = v_hint;
    end if;
    select a.server into v_server
    from jsonb_each(p_allowed) a (server, entry)
    where jsonb_typeof(a.entry -> 'tools') is distinct from 'array'
        or jsonb_path_exists(a.entry -> 'tools', 'strict $[*] ? (@.type() != "string")')
    order by a.server collate "C"
    limit 1;
    if found then
        raise exception 'allowed."%".tools is not a list of names', v_server using
            errcode = 'invalid_parameter_value', hint = v_hint;
    end if;
end
$$;
comment on function tool_rag._check_allowed(jsonb) is
'Refuses an argument "allowed" of any other shape.';

create or replace function tool_rag._held_roles(p_role_ids int[]) returns int[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    with recursive ancestor (role_id) as (
        select unnest(p_role_ids)
        union
        select p.parent_id from ancestor a join tool_rag.role_parent p on p.role_id = a.role_id
    )
    select coalesce(array_agg(role_id), '{}') from ancestor
$$;
comment on function tool_rag._held_roles(int[]) is 'Roles and all that they inherit from.';

create or replace function tool_rag._with_schedules(p_role_ids int[]) returns int[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select p_role_ids || array(
        select s.schedule_id
        from tool_rag.role_schedule s
        where s.role_id = any(tool_rag._held_roles(p_role_ids))
            and s.valid_from <= statement_timestamp()
            and (
                num_nonnulls(s.weekdays, s.hours_from, s.hours_until, s.time_zone) = 0
                or coalesce(
                    tool_rag._is_in_hours(
                        statement_timestamp(), s.weekdays, s.hours_from, s.hours_until,
                        s.time_zone
                    ),
                    s.effect = 'deny'
                )
            )
        order by s.schedule_id desc
    )
$$;
comment on function tool_rag._with_schedules(int[]) is
'Roles, and the schedules in force now of all that they hold: what they see in role_tool.';

create or replace function tool_rag._is_within(p_role_ids int[], p_bound_ids int[]) returns boolean
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select p_role_ids <@ p_bound_ids and not exists (
        select
        from tool_rag.grant_rule g
        where g.effect = 'deny' and g.valid_until > statement_timestamp()
            and g.role_id = any(tool_rag._held_roles(p_bound_ids))
            and g.role_id <> all(tool_rag._held_roles(p_role_ids))
    )
$$;
comment on function tool_rag._is_within(int[], int[]) is
'Whether roles see no more than others do by their rules alone, whatever the tools and the time: '
'they are among these, which hold no further deny, of any schedule.';

create or replace function tool_rag._common_tools(
    p_groups text[], p_allowed jsonb, p_server_ids int[]
) returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_custom_plan
as $$
declare
    v_group text;
    v_role_ids int[];
    v_tool_ids int[];
begin
    if p_allowed is not null then
        v_tool_ids := tool_rag._allowed_ids(p_allowed, p_server_ids);
    end if;
    foreach v_group in array p_groups loop
        exit when v_tool_ids = '{}';
        v_role_ids := v_group::int[];
        -- Of one role the rows are the tools, in order; of several a tool may have more than one.
        if v_tool_ids is null and cardinality(v_role_ids) = 1 then
            v_tool_ids := array(
                select r.tool_id
                from tool_rag.role_tool r
                where r.role_id = v_role_ids[1]
                    and r.allow_until > statement_timestamp()
                    and r.deny_until <= statement_timestamp()
                    and (p_server_ids is null or r.server_id = any(p_server_ids))
                order by r.tool_id
            );
        elsif v_tool_ids is null then
            v_tool_ids := array(
                select p.tool_id from tool_rag._permitted(v_role_ids, p_server_ids) p
            );
        elsif cardinality(v_role_ids) = 1 then
            v_tool_ids := array(
                select r.tool_id
                from unnest(v_tool_ids) t (tool_id)
                join tool_rag.role_tool r on r.tool_id = t.tool_id
                where r.role_id = v_role_ids[1]
                    and r.allow_until > statement_timestamp()
                    and r.deny_until <= statement_timestamp()
            );
        else
            v_tool_ids := array(
                select r.tool_id
                from unnest(v_tool_ids) t (tool_id)
                join tool_rag.role_tool r on r.tool_id = t.tool_id
                where r.role_id = any(v_role_ids)
                group by r.tool_id
                having max(r.allow_until) > statement_timestamp()
                    and max(r.deny_until) <= statement_timestamp()
            );
        end if;
    end loop;
    return array(select t.tool_id from unnest(v_tool_ids) t (tool_id) order by t.tool_id);
end
$$;
comment on function tool_rag._common_tools(text[], jsonb, int[]) is
'The tools, in order, that each of several groups of roles (arrays as text) may see now, that '
'"allowed" lists, and that are of some servers; null leaves out either of the last two.';

create or replace function tool_rag._caller(
    p_roles text[], p_allowed jsonb, p_server_ids int[],
    out role_ids int[], out gate int[], out named_ids int[]
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
    v_token constant text := nullif(current_setting('request.jwt.claims', true), '');
    v_setting constant text := nullif(current_setting('tool_rag.roles', true), '');
    v_token_roles text[];
    v_bound text[];
    v_is_trusted boolean := false;
    -- Groups of roles, each an array as text: a tool has to be permitted by every one of them.
    v_groups text[] := '{}';
    v_group text;
    v_ids int[];
begin
    if p_allowed is not null then
        perform tool_rag._check_allowed(p_allowed);
    end if;
    if exists (select from tool_rag.login) then
        select l.bound, l.is_trusted into v_bound, v_is_trusted from tool_rag._read_login() l;
    end if;

    if p_roles is null or v_token is not null and not v_is_trusted then
        -- What the session says; and beside a token an argument, which whoever sent the token may
        -- have chosen, counts only within that.
        if v_setting is not null then
            v_groups := v_groups || tool_rag._role_ids(
                regexp_split_to_array(btrim(v_setting), '\s*,\s*')
            )::text;
        end if;
        if v_token is not null then
            v_token_roles := tool_rag._token_roles(v_token);
            if v_token_roles is not null then
                v_groups := v_groups || tool_rag._role_ids(v_token_roles)::text;
            end if;
        end if;
        if p_roles is not null and v_groups = '{}' then
            v_groups := '{"{}"}';
        end if;
    end if;
    if p_roles is not null then
        select coalesce(array_agg(r.role_id order by r.role_id), '{}') into v_ids
        from tool_rag.role r
        where r.name = any(p_roles);
        v_groups := v_ids::text || v_groups;
    end if;
    v_groups := v_groups || coalesce(v_bound, '{}');

    if cardinality(v_groups) = 0 and p_allowed is not null then
        if not v_is_trusted then
            raise exception 'allowed counts only beside roles' using
                errcode = 'insufficient_privilege',
                hint = 'Pass roles too. For a backend that decides alone what its users may see, '
                    'an admin calls: select tool_rag.trust_login(''login'').';
        end if;
        role_ids := '{}';
        gate := tool_rag._common_tools('{}', p_allowed, p_server_ids);
        return;
    end if;
    named_ids := coalesce(v_groups[1], '{}')::int[];
    if cardinality(v_groups) = 0 or '{}' = any(v_groups) then
        role_ids := '{}';
        return;
    end if;
    if cardinality(v_groups) > 1 then
        -- A group that takes nothing away from the first needs no test.
        v_bound := v_groups;
        v_groups := v_groups[: 1];
        foreach v_group in array v_bound[2 :] loop
            if v_group <> all(v_groups)
                and not tool_rag._is_within(named_ids, v_group::int[])
            then
                v_groups := v_groups || v_group;
            end if;
        end loop;
    end if;
    -- Only rules that begin later or have hours need to be asked what time it is.
    if exists (select from tool_rag.role_schedule) then
        v_groups := array(
            select tool_rag._with_schedules(g.ids::int[])::text
            from unnest(v_groups) with ordinality g (ids, place)
            order by g.place
        );
        named_ids := v_groups[1]::int[];
    end if;
    if cardinality(v_groups) = 1 and p_allowed is null then
        role_ids := named_ids;
    else
        role_ids := '{}';
        gate := tool_rag._common_tools(v_groups, p_allowed, p_server_ids);
    end if;
end
$$;
comment on function tool_rag._caller(text[], jsonb, int[]) is
'Who asks. A caller sees what role_ids may see; or, where that alone does not say it, role_ids is '
'empty and gate is the very tools, in order, of the given servers (null: all): what the roles asked, '
'those of the session''s setting and token, and those that the login is bound to all permit, and '
'"allowed" lists. named_ids are the roles whose grants a result names; null where none was asked. '
'Both hold, beside roles, the schedules of theirs that are in force.';

create or replace function tool_rag._check_unbound() returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (select from tool_rag.login)
        and (select l.bound is not null from tool_rag._read_login() l)
    then
        raise exception 'this login is bound to roles: the whole catalogue is not for it' using
            errcode = 'insufficient_privilege',
            hint = 'It has permitted_tools and search_tools; edit as another login.';
    end if;
    return true;
end
$$;
comment on function tool_rag._check_unbound() is
'True, or an error for a bound login: called by what shows or edits more than one''s own tools.';

create or replace function tool_rag._sees_all() returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_set constant text := nullif(current_setting('role', true), 'none');
begin
    return (v_set is null or to_regrole(quote_ident(v_set)) is not null)
        and has_function_privilege(
            coalesce(v_set, session_user), 'tool_rag.list_tools()', 'execute'
        )
        and not coalesce((select l.bound is not null from tool_rag._read_login() l), false);
end
$$;
comment on function tool_rag._sees_all() is
'Whether the caller may list the whole catalogue, and so know how large it is.';
