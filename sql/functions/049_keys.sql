-- Keys of callers: made and checked by digest. The digest is computed by who has the secret.

create or replace function tool_rag._find_key(p_name text) returns int
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key_id int;
begin
    select k.key_id into v_key_id from tool_rag.api_key k where k.name = p_name;
    if not found then
        raise exception 'key "%" does not exist', p_name using
            errcode = 'undefined_object',
            hint = 'List them: select * from tool_rag.list_api_keys(), or: tool-rag keys list.';
    end if;
    return v_key_id;
end
$$;
comment on function tool_rag._find_key(text) is 'A key''s number, or an error.';

create or replace function tool_rag._check_digest(p_digest bytea) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if length(p_digest) is distinct from 32 then
        raise exception 'a digest has 32 bytes, this one %', coalesce(length(p_digest)::text, 'none')
            using errcode = 'invalid_parameter_value',
            hint = 'It is the HMAC-SHA256 of the key; tool-rag keys add makes both.';
    end if;
end
$$;
comment on function tool_rag._check_digest(bytea) is 'Raises where a digest is none.';

create or replace function tool_rag.add_api_key(
    name text, public_id text, digest bytea, roles text[], identity jsonb default '{}',
    expires_at timestamptz default null
) returns void
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key_id int;
begin
    perform tool_rag._check_unbound();
    perform tool_rag._check_digest(add_api_key.digest);
    if coalesce(add_api_key.name, '') = '' or length(add_api_key.name) > 256 then
        raise exception 'a key''s name has 1 to 256 characters' using
            errcode = 'invalid_parameter_value', hint = 'Name whom or what it is for.';
    elsif add_api_key.public_id is null or add_api_key.public_id !~ '^[a-z0-9]{12}$' then
        raise exception 'a key''s public id has 12 small letters and digits' using
            errcode = 'invalid_parameter_value', hint = 'tool-rag keys add makes one.';
    elsif coalesce(cardinality(add_api_key.roles), 0) = 0 then
        raise exception 'a key needs a role' using
            errcode = 'invalid_parameter_value', hint = 'Without a role no tool is visible.';
    elsif jsonb_typeof(add_api_key.identity) is distinct from 'object' then
        raise exception 'identity is no JSON object' using
            errcode = 'invalid_parameter_value',
            hint = 'It holds values of identity parameters: {"customer_id": "c-17"}.';
    elsif add_api_key.expires_at <= now() then
        raise exception 'the key would end before it begins' using
            errcode = 'invalid_parameter_value', hint = 'Say a time to come, or none.';
    end if;
    insert into tool_rag.api_key (public_id, name, digest, identity, expires_at)
    values (
        add_api_key.public_id, add_api_key.name, add_api_key.digest, add_api_key.identity,
        coalesce(add_api_key.expires_at, 'infinity')
    )
    on conflict do nothing
    returning key_id into v_key_id;
    if v_key_id is null then
        raise exception 'there is a key "%" already', add_api_key.name using
            errcode = 'unique_violation',
            hint = 'Rotate it (tool-rag keys rotate NAME), or choose another name.';
    end if;
    insert into tool_rag.api_key_role (key_id, role_id)
    select distinct v_key_id, tool_rag._find_role(r) from unnest(add_api_key.roles) r;
end
$$;
comment on function tool_rag.add_api_key(text, text, bytea, text[], jsonb, timestamptz) is
'Stores a key by its digest, with the roles that it asks with, the identity on whose behalf, and '
'its end (null: none).';

create or replace function tool_rag.rotate_api_key(
    name text, digest bytea, grace interval default '0'
) returns text
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key_id int;
    v_public_id text;
begin
    perform tool_rag._check_unbound();
    v_key_id := tool_rag._find_key(rotate_api_key.name);
    perform tool_rag._check_digest(rotate_api_key.digest);
    if rotate_api_key.grace is null or rotate_api_key.grace < '0' then
        raise exception 'grace is negative or null' using
            errcode = 'invalid_parameter_value',
            hint = 'For so long the former key is good, too: interval ''1 day''.';
    end if;
    update tool_rag.api_key k
    set former_digest = k.digest, former_until = now() + rotate_api_key.grace,
        digest = rotate_api_key.digest, rotated_at = now()
    where k.key_id = v_key_id and k.revoked_at is null
    returning k.public_id into v_public_id;
    if v_public_id is null then
        raise exception 'key "%" is revoked', rotate_api_key.name using
            errcode = 'object_not_in_prerequisite_state',
            hint = 'A revoked key stays revoked: add one under another name.';
    end if;
    return v_public_id;
end
$$;
comment on function tool_rag.rotate_api_key(text, bytea, interval) is
'Replaces a key by another with the same roles and identity; the former is good for a while yet. '
'Returns the public id, which stays.';

create or replace function tool_rag.revoke_api_key(name text) returns void
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tool_rag._check_unbound();
    update tool_rag.api_key k
    set revoked_at = coalesce(k.revoked_at, now())
    where k.key_id = tool_rag._find_key(revoke_api_key.name);
end
$$;
comment on function tool_rag.revoke_api_key(text) is
'Makes a key worthless at once and for good. It stays listed.';

create or replace function tool_rag.list_api_keys(name text default null) returns table (
    name text, public_id text, roles text[], identity jsonb, state text, expires_at timestamptz,
    created_at timestamptz, rotated_at timestamptz, last_used_at timestamptz
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select k.name, k.public_id,
        array(
            select r.name
            from tool_rag.api_key_role a
            join tool_rag.role r on r.role_id = a.role_id
            where a.key_id = k.key_id
            order by r.name collate "C"
        ),
        k.identity,
        case
            when k.revoked_at is not null then 'revoked'
            when k.expires_at <= statement_timestamp() then 'expired'
            else 'good'
        end,
        nullif(k.expires_at, 'infinity'), k.created_at, k.rotated_at, k.last_used_at
    from tool_rag.api_key k
    where tool_rag._check_unbound()
        and (list_api_keys.name is null or k.name = list_api_keys.name)
    order by k.name collate "C"
$$;
comment on function tool_rag.list_api_keys(text) is
'The keys, or the one of a name, without anything by which one could ask. last_used_at is right to a '
'minute. For admins.';

create or replace function tool_rag.authenticate_key(public_id text, digest bytea) returns table (
    name text, roles text[], identity jsonb, expires_at timestamptz
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_key tool_rag.api_key;
    -- Digests are compared by their own hashes: how long that takes tells nothing of either.
    v_given constant bytea := sha256(coalesce(authenticate_key.digest, ''));
    v_is_right boolean;
begin
    select k.* into v_key from tool_rag.api_key k where k.public_id = authenticate_key.public_id;
    v_is_right := length(authenticate_key.digest) = 32 and (
        sha256(coalesce(v_key.digest, '')) = v_given
        or sha256(coalesce(v_key.former_digest, '')) = v_given
            and v_key.former_until > statement_timestamp()
    ) and v_key.revoked_at is null and v_key.expires_at > statement_timestamp();
    if v_is_right is not true then
        return;
    end if;
    if not current_setting('transaction_read_only')::boolean then
        update tool_rag.api_key k
        set last_used_at = statement_timestamp()
        where k.key_id = v_key.key_id
            and coalesce(k.last_used_at, '-infinity') < statement_timestamp() - interval '1 minute';
    end if;
    return query
    select v_key.name,
        array(
            select r.name
            from tool_rag.api_key_role a
            join tool_rag.role r on r.role_id = a.role_id
            where a.key_id = v_key.key_id
            order by r.name collate "C"
        ),
        v_key.identity, nullif(v_key.expires_at, 'infinity');
end
$$;
comment on function tool_rag.authenticate_key(text, bytea) is
'The roles and identity of the key with this public id and digest; no row where there is none, it '
'is another, revoked or expired, without telling which.';
