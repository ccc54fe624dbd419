-- The catalogue: what holds for every tool row, and ingestion in one call.

create or replace function tool_rag._lock_catalogue() returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
    -- A row lock rather than an advisory one: it also fails a transaction in repeatable read that
    -- could not see what another one has committed (SQLSTATE 40001), instead of deriving from it.
    update tool_rag.catalogue_state set version = version + 1
$$;
comment on function tool_rag._lock_catalogue() is
'Lets one transaction at a time edit catalogue or access, until it ends. Searches never wait.';

create or replace function tool_rag._is_action(p_annotations jsonb) returns boolean
language sql immutable parallel safe
return (p_annotations -> 'readOnlyHint') is distinct from 'true'::jsonb
    or (p_annotations -> 'destructiveHint') is not distinct from 'true'::jsonb;
comment on function tool_rag._is_action(jsonb) is
'Whether MCP annotations make a tool an action: all but what is declared read-only, as the '
'protocol''s defaults have it.';

create or replace function tool_rag._content_hash(
    p_title text, p_description text, p_input_schema jsonb, p_output_schema jsonb,
    p_annotations jsonb
) returns bytea
language sql immutable parallel safe
return sha256(convert_to(
    jsonb_build_array(
        p_title, p_description, p_input_schema, p_output_schema, p_annotations
    )::text,
    'UTF8'
));
comment on function tool_rag._content_hash(text, text, jsonb, jsonb, jsonb) is
'SHA-256 of a definition; jsonb''s text form is canonical.';

create or replace function tool_rag._estimate_tokens(
    p_name text, p_description text, p_input_schema jsonb
) returns int
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
    -- Fitted to o200k_base on two public sets; within 3% of the total on others (docs/design.md).
    select round(
        0.95 * regexp_count(d.definition, '[A-Za-z]+')
        + 0.6 * regexp_count(d.definition, '[0-9]')
        + 1.25 * regexp_count(d.definition, '[!-/:-@\[-`{-~](?: ?[!-/:-@\[-`{-~])*')
        + regexp_count(d.definition, '[^\u0001-\u007f]')
    )::int
    from (
        select jsonb_build_object(
            'name', p_name, 'description', p_description, 'input_schema', p_input_schema
        )::text as definition
    ) d
$$;
comment on function tool_rag._estimate_tokens(text, text, jsonb) is
'Estimated tokens of a definition (name, description, schema) in a model''s prompt: words, digits, '
'runs of punctuation and characters beyond ASCII, weighted.';

create or replace function tool_rag.upsert_tools(payload jsonb)
returns table (
    server text, added int, changed int, unchanged int, removed int, waiting int, rejected int,
    flagged int
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_exports jsonb := case jsonb_typeof(payload)
        when 'array' then payload else jsonb_build_array(payload)
    end;
    v_export jsonb;
    v_number bigint;
    v_path text;
    v_problem record;
    v_server_id int;
    v_servers text[] := '{}';
    v_trusted boolean;
    v_reviewed record;
    v_stored record;
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    for v_export, v_number in
        select e.value, e.ordinality - 1
        from jsonb_array_elements(v_exports) with ordinality e
    loop
        v_path := case jsonb_typeof(payload)
            when 'array' then format('payload[%s]', v_number) else 'payload'
        end;
        if jsonb_typeof(v_export) is distinct from 'object'
            or jsonb_typeof(v_export -> 'server') is distinct from 'string'
            or jsonb_typeof(v_export -> 'tools') is distinct from 'array'
            or coalesce(jsonb_typeof(v_export -> 'title'), 'null') not in ('string', 'null')
            or coalesce(jsonb_typeof(v_export -> 'description'), 'null') not in ('string', 'null')
        then
            raise exception '% is not an export of tools', v_path using
                errcode = 'invalid_parameter_value',
                hint = 'Pass {"server": "name", "tools": [{"name": ..., "description": ..., '
                    '"input_schema": {...}}, ...]} or an array of such objects.';
        end if;

        if v_export ->> 'server' ~ '[/*]' or length(v_export ->> 'server') not between 1 and 256
        then
            raise exception '%.server is "%"', v_path, left(v_export ->> 'server', 300) using
                errcode = 'invalid_parameter_value',
                hint = 'A server''s name has 1 to 256 characters, none of them "/" or "*"; nothing '
                    'was changed.';
        elsif v_export ->> 'server' = any(v_servers) then
            raise exception '%.server is "%", as in payload[%]', v_path, v_export ->> 'server',
                array_position(v_servers, v_export ->> 'server') - 1
                using errcode = 'unique_violation',
                hint = 'A server''s tools stand together; nothing was changed.';
        end if;
        v_servers := v_servers || (v_export ->> 'server');

        select t.ordinality - 1 as position, c.key, c.expected into v_problem
        from jsonb_array_elements(v_export -> 'tools') with ordinality t
        cross join lateral (values
            ('', 'object', t.value, true),
            ('.name', 'string', t.value -> 'name', true),
            ('.title', 'string', t.value -> 'title', false),
            ('.description', 'string', t.value -> 'description', false),
            ('.input_schema', 'object', t.value -> 'input_schema', false),
            ('.output_schema', 'object', t.value -> 'output_schema', false),
            ('.annotations', 'object', t.value -> 'annotations', false),
            ('.is_action', 'boolean', t.value -> 'is_action', false),
            ('.identity_parameters', 'array', t.value -> 'identity_parameters', false),
            ('.synonyms', 'array', t.value -> 'synonyms', false)
        ) c (key, expected, value, required)
        where coalesce(nullif(jsonb_typeof(c.value), 'null'), case when c.required then '' end)
            <> c.expected
        order by t.ordinality
        limit 1;
        if found then
            raise exception '%.tools[%]% is not of type %', v_path, v_problem.position,
                v_problem.key, v_problem.expected
                using errcode = 'invalid_parameter_value',
                hint = 'Correct this value; nothing was changed.';
        end if;

        select t.ordinality - 1 as position into v_problem
        from jsonb_array_elements(v_export -> 'tools') with ordinality t
        where length(t.value ->> 'name') not between 1 and 256
        order by t.ordinality
        limit 1;
        if found then
            raise exception '%.tools[%].name does not have 1 to 256 characters', v_path,
                v_problem.position
                using errcode = 'invalid_parameter_value',
                hint = 'Rename it; nothing was changed.';
        end if;

        select t.ordinality - 1 as position, l.key into v_problem
        from jsonb_array_elements(v_export -> 'tools') with ordinality t
        cross join (values ('identity_parameters'), ('synonyms')) l (key)
        where jsonb_path_exists(
            t.value -> l.key, 'strict $[*] ? (@.type() != "string")', silent => true
        )
        order by t.ordinality, l.key
        limit 1;
        if found then
            raise exception '%.tools[%].% is not an array of strings', v_path,
                v_problem.position, v_problem.key
                using errcode = 'invalid_parameter_value',
                hint = 'Correct this value; nothing was changed.';
        end if;

        select t.ordinality - 1 as position, w.ordinality - 1 as place, length(w.words) as length
        into v_problem
        from jsonb_array_elements(v_export -> 'tools') with ordinality t
        cross join lateral jsonb_array_elements_text(
            case jsonb_typeof(t.value -> 'synonyms') when 'array' then t.value -> 'synonyms' end
        ) with ordinality w (words)
        where w.words !~ '[^[:space:]]' or length(w.words) > 1000
        order by t.ordinality, w.ordinality
        limit 1;
        if found then
            raise exception '%.tools[%].synonyms[%] has % characters instead of 1 to 1000', v_path,
                v_problem.position, v_problem.place, v_problem.length
                using errcode = 'invalid_parameter_value',
                hint = 'Write words, separated by spaces; nothing was changed.';
        end if;

        select t.value ->> 'name' as name, min(t.ordinality) - 1 as first,
            max(t.ordinality) - 1 as last
        into v_problem
        from jsonb_array_elements(v_export -> 'tools') with ordinality t
        group by t.value ->> 'name'
        having count(*) > 1
        order by min(t.ordinality)
        limit 1;
        if found then
            raise exception '%.tools[%] and tools[%] have the same name, "%"', v_path,
                v_problem.first, v_problem.last, v_problem.name
                using errcode = 'unique_violation',
                hint = 'A server''s tools have distinct names; nothing was changed.';
        end if;

        select s.server_id into v_server_id
        from tool_rag.server s
        where s.name = v_export ->> 'server';
        if not found then
            insert into tool_rag.server (name)
            values (v_export ->> 'server')
            returning server_id into v_server_id;
        end if;
        -- Where the export says nothing, what an admin wrote stays; so it does where changes of
        -- this server are not trusted.
        select tool_rag._review_policy(s) = 'trust' into v_trusted
        from tool_rag.server s
        where s.server_id = v_server_id;
        update tool_rag.server s
        set title = coalesce(v_export ->> 'title', s.title),
            description = coalesce(v_export ->> 'description', s.description),
            updated_at = now()
        where s.server_id = v_server_id
            and v_trusted
            and (coalesce(v_export ->> 'title', s.title),
                coalesce(v_export ->> 'description', s.description))
            is distinct from (s.title, s.description);

        delete from tool_rag.tool t
        where t.server_id = v_server_id
            and t.name not in (
                select e.value ->> 'name' from jsonb_array_elements(v_export -> 'tools') e
            );
        get diagnostics removed = row_count;

        v_reviewed := tool_rag._review_export(v_server_id, v_export -> 'tools');
        v_stored := tool_rag._store_tools(v_server_id, v_reviewed.tools);
        server := v_export ->> 'server';
        added := v_stored.added;
        changed := v_stored.changed;
        waiting := v_reviewed.waiting;
        rejected := v_reviewed.rejected;
        flagged := v_reviewed.flagged;
        unchanged := jsonb_array_length(v_export -> 'tools') - added - changed - waiting - rejected;
        return next;
    end loop;
end
$$;
comment on function tool_rag.upsert_tools(jsonb) is
'Makes each named server''s tools equal to an export: {"server", "title", "description", "tools": '
'[{"name", "title", "description", "input_schema", "output_schema", "annotations", "is_action", '
'"identity_parameters", "synonyms"}]}, or an array of these. All or nothing; unchanged tools are '
'not touched. What a tool says nothing of (is_action, identity_parameters, synonyms) stays. Under '
'the server''s review policy new and changed tools may wait, or be rejected, instead; flagged counts '
'those of which the linter thinks the worst, wherever they are.';

create or replace function tool_rag._store_tools(
    p_server_id int, p_tools jsonb, out added int, out changed int
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_changed int[];
    v_added int[];
begin
    with updated as (
        update tool_rag.tool t
        set title = i.title,
            description = i.description,
            input_schema = i.input_schema,
            output_schema = i.output_schema,
            annotations = i.annotations,
            is_action = case
                when i.is_action is not null then i.is_action
                when i.content_hash = t.content_hash then t.is_action
                else tool_rag._is_action(i.annotations)
            end,
            identity_parameters = coalesce(i.identity_parameters, t.identity_parameters),
            withheld = false
        from tool_rag._read_tools(p_tools) i
        where t.server_id = p_server_id
            and t.name = i.name
            and (
                t.content_hash <> i.content_hash
                or t.is_action <> i.is_action
                or t.identity_parameters <> i.identity_parameters
                or t.withheld
            )
        returning t.tool_id
    )
    select coalesce(array_agg(u.tool_id), '{}') into v_changed from updated u;

    with inserted as (
        insert into tool_rag.tool (
            server_id, name, title, description, input_schema, output_schema, annotations,
            is_action, identity_parameters
        )
        select
            p_server_id, i.name, i.title, i.description, i.input_schema, i.output_schema,
            i.annotations, i.is_action, coalesce(i.identity_parameters, '{}')
        from tool_rag._read_tools(p_tools) i
        where not exists (
            select from tool_rag.tool t where t.server_id = p_server_id and t.name = i.name
        )
        order by i.position
        returning tool_id
    )
    select coalesce(array_agg(i.tool_id), '{}') into v_added from inserted i;
    added := cardinality(v_added);

    select count(distinct c.tool_id) into changed
    from unnest(v_changed || tool_rag._replace_synonyms(p_server_id, p_tools)) c (tool_id)
    where c.tool_id <> all(v_added);
end
$$;
comment on function tool_rag._store_tools(int, jsonb) is
'Makes tools of a server what an export says of them, adding those that it lacks.';

create or replace function tool_rag.set_description(server text, tool text, description text)
returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tool_id int;
begin
    perform tool_rag._check_unbound();
    v_tool_id := tool_rag._find_tool(set_description.server, set_description.tool);
    if set_description.description is null then
        raise exception 'description is null' using
            errcode = 'invalid_parameter_value',
            hint = 'Write what the tool does, or '''' for nothing.';
    end if;
    update tool_rag.tool t
    set description = set_description.description
    where t.tool_id = v_tool_id and t.description <> set_description.description;
    return found;
end
$$;
comment on function tool_rag.set_description(text, text, text) is
'Gives one tool another description; true where it is another one. The next upsert_tools of its '
'server brings back what the export says.';

create or replace function tool_rag._replace_synonyms(p_server_id int, p_tools jsonb) returns int[]
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_removed int[];
    v_added int[];
begin
    if not exists (
        select from jsonb_array_elements(p_tools) e
        where jsonb_typeof(e.value -> 'synonyms') = 'array'
    ) then
        return '{}';
    end if;
    with listed as (
        select t.tool_id, e.value -> 'synonyms' as synonyms
        from jsonb_array_elements(p_tools) e
        join tool_rag.tool t on t.server_id = p_server_id and t.name = e.value ->> 'name'
        where jsonb_typeof(e.value -> 'synonyms') = 'array'
    ),
    removed as (
        delete from tool_rag.synonym y
        using listed l
        where y.tool_id = l.tool_id and not l.synonyms ? y.words
        returning y.tool_id
    )
    select array_agg(distinct r.tool_id) into v_removed from removed r;
    with added as (
        insert into tool_rag.synonym (tool_id, words)
        select t.tool_id, w.words
        from jsonb_array_elements(p_tools) with ordinality e
        join tool_rag.tool t on t.server_id = p_server_id and t.name = e.value ->> 'name'
        cross join lateral jsonb_array_elements_text(
            case jsonb_typeof(e.value -> 'synonyms') when 'array' then e.value -> 'synonyms' end
        ) with ordinality w (words)
        order by e.ordinality, w.ordinality
        on conflict on constraint synonym_key do nothing
        returning tool_id
    )
    select array_agg(distinct a.tool_id) into v_added from added a;
    return coalesce(v_removed, '{}') || coalesce(v_added, '{}');
end
$$;
comment on function tool_rag._replace_synonyms(int, jsonb) is
'Makes the synonyms of those tools that list some, or an empty list, equal to it; returns the tools '
'of which that changed any.';

create or replace function tool_rag._read_tools(p_tools jsonb)
returns table (
    "position" bigint, name text, title text, description text, input_schema jsonb,
    output_schema jsonb, annotations jsonb, is_action boolean, identity_parameters text[],
    content_hash bytea
)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select
        r.*,
        tool_rag._content_hash(
            r.title, r.description, r.input_schema, r.output_schema, r.annotations
        )
    from (
        select
            e.ordinality,
            e.value ->> 'name',
            e.value ->> 'title',
            coalesce(e.value ->> 'description', ''),
            coalesce(
                nullif(e.value -> 'input_schema', 'null'),
                '{"type": "object", "properties": {}}'
            ),
            nullif(e.value -> 'output_schema', 'null'),
            coalesce(nullif(e.value -> 'annotations', 'null'), '{}'),
            (e.value ->> 'is_action')::boolean,
            case when jsonb_typeof(e.value -> 'identity_parameters') = 'array' then (
                select coalesce(array_agg(p order by o), '{}')
                from jsonb_array_elements_text(e.value -> 'identity_parameters')
                    with ordinality p (p, o)
            ) end
        from jsonb_array_elements(p_tools) with ordinality e
    ) r (
        "position", name, title, description, input_schema, output_schema, annotations,
        is_action, identity_parameters
    )
$$;
comment on function tool_rag._read_tools(jsonb) is 'The tools of an export as rows.';
