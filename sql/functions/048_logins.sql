-- Logins: what those of Postgres may call, see and be believed. For admins.

create or replace function tool_rag._find_login(p_name text) returns oid
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_oid constant oid := to_regrole(quote_ident(p_name));
begin
    if v_oid is null then
        raise exception 'login "%" does not exist', p_name using
            errcode = 'undefined_object',
            hint = 'Create it: create role "name" login; then call this again.';
    elsif p_name = any('{tool_rag_reader,tool_rag_editor,tool_rag_admin}'::text[]) then
        raise exception '"%" is one of the groups that all databases of this server share', p_name
            using errcode = 'invalid_parameter_value',
            hint = 'Name a login, or a group role of your own.';
    end if;
    return v_oid;
end
$$;
comment on function tool_rag._find_login(text) is
'A login''s number, or an error that says how to make it.';

create or replace function tool_rag._access_of(p_login oid) returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select case
        when r.rolsuper then 'superuser'
        when n.nspowner = r.oid then 'owner'
        when pg_has_role(r.oid, to_regrole('tool_rag_admin')::oid, 'member') then 'admin'
        when pg_has_role(r.oid, to_regrole('tool_rag_editor')::oid, 'member') then 'editor'
        when pg_has_role(r.oid, to_regrole('tool_rag_reader')::oid, 'member') then 'reader'
    end
    from pg_roles r
    join pg_namespace n on n.nspname = 'tool_rag'
    where r.oid = p_login
$$;
comment on function tool_rag._access_of(oid) is
'What a login may do here: superuser, owner, admin, editor or reader; null: nothing, unless by '
'grants of somebody''s own.';

create or replace function tool_rag.bind_login(login text, roles text[]) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_oid constant oid := tool_rag._find_login(bind_login.login);
    v_access constant text := tool_rag._access_of(v_oid);
    v_role_ids int[];
    v_login_id int;
    v_same boolean;
begin
    perform tool_rag._check_unbound();
    if bind_login.roles is null or array_position(bind_login.roles, null) is not null then
        raise exception 'the roles to bind "%" to are missing', bind_login.login using
            errcode = 'invalid_parameter_value',
            hint = 'Pass them as ''{support}''; with ''{}'' it sees nothing.';
    elsif v_access in ('superuser', 'owner', 'admin', 'editor') then
        raise exception 'login "%" is % here, which no binding holds', bind_login.login,
            case v_access when 'admin' then 'an admin' when 'editor' then 'an editor'
                when 'owner' then 'the owner' else 'a superuser' end
            using errcode = 'invalid_parameter_value',
            hint = 'Bind a login that is a reader, or take the rest away: '
                'tool-rag db revoke-access LOGIN.';
    end if;
    perform tool_rag._lock_catalogue();
    v_role_ids := array(
        select distinct tool_rag._find_role(n.name) from unnest(bind_login.roles) n (name) order by 1
    );
    select l.login_id, l.is_bound and l.role_oid = v_oid and v_role_ids = array(
        select r.role_id from tool_rag.login_role r where r.login_id = l.login_id order by 1
    )
    into v_login_id, v_same
    from tool_rag.login l
    where l.name = bind_login.login;
    if v_same then
        return false;
    end if;
    insert into tool_rag.login as l (name, role_oid, is_bound)
    values (bind_login.login, v_oid, true)
    on conflict on constraint login_name_key do update
    set is_bound = true,
        -- Another login of the same name was trusted, not this one.
        is_trusted = l.is_trusted and l.role_oid = excluded.role_oid,
        role_oid = excluded.role_oid
    returning l.login_id into v_login_id;
    delete from tool_rag.login_role r where r.login_id = v_login_id;
    insert into tool_rag.login_role (login_id, role_id)
    select v_login_id, r.role_id from unnest(v_role_ids) r (role_id);
    return true;
end
$$;
comment on function tool_rag.bind_login(text, text[]) is
'Ties a login of Postgres, and all that inherit its privileges, to roles, in place of those it was '
'tied to: it never sees more than these see together, whatever it passes or sets, and without any '
'roles just that. True where that is a change.';

create or replace function tool_rag.unbind_login(login text) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count int;
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    delete from tool_rag.login_role r
    using tool_rag.login l
    where l.login_id = r.login_id and l.name = unbind_login.login;
    update tool_rag.login l
    set is_bound = false
    where l.name = unbind_login.login and l.is_bound;
    get diagnostics v_count = row_count;
    delete from tool_rag.login l where not l.is_bound and not l.is_trusted;
    return v_count > 0;
end
$$;
comment on function tool_rag.unbind_login(text) is
'Frees a login, also one that no longer exists, from its binding: what it passes and sets then '
'counts. False where it was not bound.';

create or replace function tool_rag.trust_login(login text) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_oid constant oid := tool_rag._find_login(trust_login.login);
    v_count int;
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    insert into tool_rag.login as l (name, role_oid, is_trusted)
    values (trust_login.login, v_oid, true)
    on conflict on constraint login_name_key do update
    set is_trusted = true, role_oid = excluded.role_oid
    where not l.is_trusted or l.role_oid <> excluded.role_oid;
    get diagnostics v_count = row_count;
    return v_count > 0;
end
$$;
comment on function tool_rag.trust_login(text) is
'Believes a backend''s login: its argument "allowed" counts without roles, as far as a binding '
'permits, and its argument "roles" beside a token. True where that is a change.';

create or replace function tool_rag.distrust_login(login text) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count int;
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    update tool_rag.login l
    set is_trusted = false
    where l.name = distrust_login.login and l.is_trusted;
    get diagnostics v_count = row_count;
    delete from tool_rag.login l where not l.is_bound and not l.is_trusted;
    return v_count > 0;
end
$$;
comment on function tool_rag.distrust_login(text) is
'Takes back trust_login; false where the login was not trusted.';

create or replace function tool_rag.set_roles_claim(path text[]) returns void
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tool_rag._check_unbound();
    if set_roles_claim.path is not null and (
        array_ndims(set_roles_claim.path) is distinct from 1
        or array_position(set_roles_claim.path, null) is not null
    ) then
        raise exception 'the path of the claim is not a list of keys' using
            errcode = 'invalid_parameter_value',
            hint = 'Pass for example ''{app_metadata,roles}''; null reads no roles from tokens.';
    elsif set_roles_claim.path[1] in ('user_metadata', 'raw_user_meta_data') then
        raise exception 'users may edit % themselves', set_roles_claim.path[1] using
            errcode = 'invalid_parameter_value',
            hint = 'Let the issuer of tokens put roles where only it writes: app_metadata.';
    end if;
    perform tool_rag._lock_catalogue();
    update tool_rag.access_setting set roles_claim = set_roles_claim.path;
end
$$;
comment on function tool_rag.set_roles_claim(text[]) is
'Where the claims of a token (the setting request.jwt.claims) have the roles: a path of keys, at '
'first {roles}; null: nowhere.';

create or replace function tool_rag._is_strict() returns boolean
language sql stable parallel safe
-- Without its row nobody has said that it is off.
return coalesce((select s.strict_statistics from tool_rag.access_setting s), true);
comment on function tool_rag._is_strict() is
'Whether every search counts words in the tools that its caller may see and in no other.';

create or replace function tool_rag.set_strict_statistics(strict boolean default null)
returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tool_rag._check_unbound();
    -- Where it only asks, nothing is written, so that a standby answers, too.
    if set_strict_statistics.strict is not null then
        -- Where somebody removed the row, tokens have no roles, and so it stays.
        insert into tool_rag.access_setting as s (roles_claim, strict_statistics)
        values (null, set_strict_statistics.strict)
        on conflict on constraint access_setting_pkey do update
        set strict_statistics = excluded.strict_statistics
        where s.strict_statistics <> excluded.strict_statistics;
    end if;
    return tool_rag._is_strict();
end
$$;
comment on function tool_rag.set_strict_statistics(boolean) is
'Says whether every search counts words in the tools that its caller may see and in no other, '
'whatever its option "statistics" says; null only asks. Returns what holds then.';

create or replace function tool_rag.grant_access(login text, access text) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_oid constant oid := tool_rag._find_login(grant_access.login);
    v_group text := 'tool_rag_' || grant_access.access;
begin
    perform tool_rag._check_unbound();
    if coalesce(grant_access.access, '') not in ('reader', 'editor', 'admin') then
        raise exception 'access is % instead of reader, editor or admin',
            coalesce(quote_literal(grant_access.access), 'null')
            using errcode = 'invalid_parameter_value',
            hint = 'Readers search, editors edit rules and wording too, admins all.';
    elsif to_regrole(v_group) is null then
        raise exception 'there is no group role %', v_group using
            errcode = 'undefined_object',
            hint = 'As a user who may create roles: tool-rag db upgrade.';
    elsif grant_access.access <> 'reader' and exists (
        select from tool_rag.login l
        where l.is_bound and (l.name = grant_access.login or l.role_oid = v_oid)
    ) then
        raise exception 'login "%" is bound to roles, so it can be but a reader', grant_access.login
            using errcode = 'invalid_parameter_value',
            hint = 'Free it first: select tool_rag.unbind_login(''login'').';
    elsif tool_rag._groups_of(v_oid) = array[v_group] then
        return false;
    end if;
    perform tool_rag._drop_groups(v_oid, grant_access.login);
    begin
        execute format('grant %I to %I with inherit true', v_group, grant_access.login);
    exception
        when insufficient_privilege then
            raise exception 'the owner of the schema may not put logins into %', v_group using
                errcode = 'insufficient_privilege',
                hint = format(
                    'Another user made that group. As a superuser: grant %I to %I with admin '
                    'option;', v_group, current_user
                );
    end;
    return true;
end
$$;
comment on function tool_rag.grant_access(text, text) is
'Makes a login a reader, an editor or an admin, in place of what it was; false where it was that '
'already. It holds in every database of the server that has this schema.';

create or replace function tool_rag.revoke_access(login text) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_oid constant oid := tool_rag._find_login(revoke_access.login);
    v_had constant text[] := tool_rag._groups_of(v_oid);
    v_left constant text := tool_rag._access_of(v_oid);
begin
    perform tool_rag._check_unbound();
    perform tool_rag._drop_groups(v_oid, revoke_access.login);
    if v_had = '{}' and v_left in ('reader', 'editor', 'admin') then
        raise exception 'login "%" is in tool_rag_% by another role', revoke_access.login, v_left
            using errcode = 'object_not_in_prerequisite_state',
            hint = 'Take it out of that role first; \drgS+ in psql lists who is in what.';
    end if;
    return v_had <> '{}';
end
$$;
comment on function tool_rag.revoke_access(text) is
'Takes a login out of the groups of readers, editors and admins; a binding stays. False where it '
'was in none.';

create or replace function tool_rag._groups_of(p_login oid) returns text[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(distinct g.rolname::text), '{}')
    from pg_auth_members m
    join pg_roles g on g.oid = m.roleid
    where m.member = p_login and m.inherit_option
        and g.rolname in ('tool_rag_reader', 'tool_rag_editor', 'tool_rag_admin')
$$;
comment on function tool_rag._groups_of(oid) is
'The groups of readers, editors and admins that a login is in by itself.';

create or replace function tool_rag._drop_groups(p_login oid, p_name text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_grant record;
begin
    for v_grant in
        select g.rolname as name, m.grantor::regrole as grantor
        from pg_auth_members m
        join pg_roles g on g.oid = m.roleid
        where m.member = p_login
            and g.rolname in ('tool_rag_reader', 'tool_rag_editor', 'tool_rag_admin')
    loop
        execute format('revoke %I from %I granted by %s', v_grant.name, p_name, v_grant.grantor);
    end loop;
end
$$;
comment on function tool_rag._drop_groups(oid, text) is
'Takes a login out of the three groups, whoever put it there.';

create or replace function tool_rag.list_logins()
returns table (
    login text, access text, is_bound boolean, roles text[], is_trusted boolean, note text
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    with named as (
        select l.login_id, l.name, l.role_oid, l.is_bound, l.is_trusted,
            to_regrole(quote_ident(l.name))::oid as named_oid
        from tool_rag.login l
    ),
    listed as (
        select n.login_id, n.name, n.named_oid, n.is_bound, n.is_trusted,
            case
                when n.named_oid is null and o.rolname is null then 'no such login'
                when n.named_oid is null then 'now called ' || o.rolname
                when n.named_oid <> n.role_oid and o.rolname is null then 'made anew'
                when n.named_oid <> n.role_oid then 'made anew; holds for ' || o.rolname || ' too'
            end as note
        from named n
        left join pg_roles o on o.oid = n.role_oid
        union all
        select null, r.rolname, r.oid, false, false, null
        from pg_roles r
        where r.rolcanlogin and not r.rolsuper
            and tool_rag._access_of(r.oid) in ('admin', 'editor', 'reader')
            and r.rolname not in (select n.name from named n)
    )
    select l.name, tool_rag._access_of(l.named_oid), l.is_bound,
        array(
            select r.name
            from tool_rag.login_role b
            join tool_rag.role r on r.role_id = b.role_id
            where b.login_id = l.login_id
            order by r.name collate "C"
        ),
        l.is_trusted, l.note
    from listed l
    where tool_rag._check_unbound()
    order by l.name collate "C"
$$;
comment on function tool_rag.list_logins() is
'Logins that are in a group, bound or trusted: what each may do here, the roles that it is bound to, '
'and a note where its name and its number are no longer of one login.';
