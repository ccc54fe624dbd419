-- Review: what an export brings anew waits where the policy of its server says so.
--
-- Only exports are under policy. Who writes tool_rag.tool by plain SQL is an admin, and serves at
-- once. No search reads pending_tool.

create or replace function tool_rag._review_policy(p_server tool_rag.server) returns text
language sql stable parallel safe
return coalesce(
    (p_server).review_policy, (select r.review_policy from tool_rag.review_setting r)
);
comment on function tool_rag._review_policy(tool_rag.server) is
'The policy of a server: its own, or else that of all.';

create or replace function tool_rag._lint_policy(p_server tool_rag.server) returns text
language sql stable parallel safe
return coalesce((p_server).lint_policy, (select r.lint_policy from tool_rag.review_setting r));
comment on function tool_rag._lint_policy(tool_rag.server) is
'What becomes of flagged versions of a trusted server.';

create or replace function tool_rag._changed_tools(p_server_id int, p_tools jsonb)
returns table (name text, is_new boolean, definition jsonb, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with exported as materialized (
        select i.*, e.value -> 'synonyms' as synonyms
        from tool_rag._read_tools(p_tools) i
        join jsonb_array_elements(p_tools) with ordinality e on e.ordinality = i.position
    ),
    differing as (
        select i.*, t.tool_id is null as is_new,
            case jsonb_typeof(i.synonyms) when 'array' then (
                select coalesce(jsonb_agg(distinct w.words order by w.words), '[]')
                from jsonb_array_elements_text(i.synonyms) w (words)
            ) end as listed
        from exported i
        left join tool_rag.tool t on t.server_id = p_server_id and t.name = i.name
        where t.tool_id is null
            or t.content_hash <> i.content_hash
            or t.is_action <> i.is_action
            or t.identity_parameters <> i.identity_parameters
            or jsonb_typeof(i.synonyms) = 'array' and (
                exists (
                    select from tool_rag.synonym y
                    where y.tool_id = t.tool_id and not i.synonyms ? y.words
                )
                or exists (
                    select from jsonb_array_elements_text(i.synonyms) w (words)
                    where not exists (
                        select from tool_rag.synonym y
                        where y.tool_id = t.tool_id and y.words = w.words
                    )
                )
            )
    )
    select d.name, d.is_new, v.definition, sha256(convert_to(v.definition::text, 'UTF8'))
    from differing d
    cross join lateral (
        select jsonb_object_agg(o.key, o.value) as definition
        from (values
            ('name', to_jsonb(d.name)),
            ('title', to_jsonb(d.title)),
            ('description', to_jsonb(d.description)),
            ('input_schema', d.input_schema),
            ('output_schema', d.output_schema),
            ('annotations', d.annotations),
            ('is_action', to_jsonb(d.is_action)),
            ('identity_parameters', to_jsonb(d.identity_parameters)),
            ('synonyms', d.listed)
        ) o (key, value)
        where o.value is not null
    ) v
    order by d.position
$$;
comment on function tool_rag._changed_tools(int, jsonb) is
'The tools of an export that the catalogue lacks or has otherwise, each as the version that it '
'would be: what the export says, without what it says nothing of.';

create or replace function tool_rag._review_export(
    p_server_id int, p_tools jsonb,
    out tools jsonb, out waiting int, out rejected int, out flagged int
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_server tool_rag.server;
    v_policy text;
    v_quarantine boolean;
    v_changed jsonb;
    v_findings jsonb := '{}';
    v_winners jsonb := '{}';
    v_held text[];
begin
    select s.* into v_server from tool_rag.server s where s.server_id = p_server_id;
    v_policy := tool_rag._review_policy(v_server);
    v_quarantine := v_policy = 'trust' and tool_rag._lint_policy(v_server) = 'quarantine';
    select coalesce(jsonb_agg(jsonb_build_object(
        'name', c.name, 'is_new', c.is_new, 'definition', c.definition, 'hash', c.hash
    )), '[]')
    into v_changed
    from tool_rag._changed_tools(p_server_id, p_tools) c;

    if v_changed <> '[]' then
        v_findings := tool_rag._find_flaws(v_server.name, v_changed);
    end if;
    if v_changed <> '[]' and v_quarantine then
        v_winners := tool_rag._find_winners(p_server_id, v_changed, v_findings);
    end if;

    with version as materialized (
        select c.value ->> 'name' as name, (c.value ->> 'hash')::bytea as hash,
            c.value -> 'definition' as definition,
            coalesce(v_findings -> (c.value ->> 'name'), '[]')
                || coalesce(v_winners -> (c.value ->> 'name'), '[]') as findings
        from jsonb_array_elements(v_changed) c
    ),
    judged as materialized (
        select v.*, f.is_flagged,
            exists (
                select from tool_rag.pending_tool p
                where p.server_id = p_server_id and p.name = v.name and p.hash = v.hash
                    and p.state = 'rejected'
            ) as was_rejected
        from version v
        cross join lateral (
            select jsonb_path_exists(v.findings, '$[*] ? (@.severity == "high")') as is_flagged
        ) f
    ),
    held as materialized (
        select j.*,
            case
                when j.was_rejected then 'rejected'
                when v_policy = 'refuse' then 'refused'
                else 'waiting'
            end as state,
            case when v_policy = 'trust' then 'flagged' else v_policy end as reason
        from judged j
        where j.was_rejected or v_policy <> 'trust' or v_quarantine and j.is_flagged
    ),
    -- What the server offers no longer, and what serves from now on.
    gone as (
        delete from tool_rag.pending_tool p
        where p.server_id = p_server_id and p.state <> 'rejected'
            and not exists (
                select from held h where h.name = p.name and h.hash = p.hash
            )
    )
    select
        count(*) filter (where h.name is not null and h.state = 'waiting'),
        count(*) filter (where h.name is not null and h.state <> 'waiting'),
        count(*) filter (where j.is_flagged),
        coalesce(array_agg(h.name) filter (where h.name is not null), '{}'),
        coalesce(jsonb_agg(to_jsonb(h)) filter (where h.state <> 'rejected'), '[]')
    into waiting, rejected, flagged, v_held, v_changed
    from judged j
    left join held h on h.name = j.name;

    insert into tool_rag.pending_tool as p (
        server_id, name, hash, definition, state, reason, findings
    )
    select p_server_id, h.value ->> 'name', (h.value ->> 'hash')::bytea, h.value -> 'definition',
        h.value ->> 'state', h.value ->> 'reason', h.value -> 'findings'
    from jsonb_array_elements(v_changed) with ordinality h
    order by h.ordinality
    on conflict on constraint pending_tool_key do update
    set state = excluded.state, reason = excluded.reason, findings = excluded.findings
    where (p.state, p.reason, p.findings)
        is distinct from (excluded.state, excluded.reason, excluded.findings);

    update tool_rag.tool t
    set withheld = v_policy = 'withhold'
    where t.server_id = p_server_id and t.name = any(v_held)
        and t.withheld <> (v_policy = 'withhold');

    -- A tool that is offered as it was approved serves again.
    update tool_rag.tool t
    set withheld = false
    where t.server_id = p_server_id and t.withheld and t.name <> all(v_held);

    select coalesce(jsonb_agg(e.value order by e.ordinality), '[]') into tools
    from jsonb_array_elements(p_tools) with ordinality e
    where e.value ->> 'name' <> all(v_held);
end
$$;
comment on function tool_rag._review_export(int, jsonb) is
'Notes which tools of an export wait or are rejected, and returns the export without them.';

create or replace function tool_rag._find_flaws(p_server text, p_changed jsonb) returns jsonb
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_object_agg(f.name, f.findings), '{}')
    from (
        select l.name, jsonb_agg(jsonb_build_object(
            'rule', l.rule, 'severity', l.severity, 'field', l.field, 'place', l.place,
            'excerpt', l.excerpt
        ) order by l.number) as findings
        from tool_rag._lint_export(
            p_server,
            (select jsonb_agg(c.value -> 'definition') from jsonb_array_elements(p_changed) c)
        ) with ordinality l (name, rule, severity, field, place, excerpt, number)
        group by l.name
    ) f
$$;
comment on function tool_rag._find_flaws(text, jsonb) is
'What the linter finds in versions, by the name of the tool.';

create or replace function tool_rag._known_requests(p_max int)
returns table (request text, tool_ids int[])
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    -- Requests whose tools are known some other way join here.
    select e.request, array_agg(e.tool_id)
    from tool_rag.example e
    group by e.request
    order by max(e.example_id) desc
    limit p_max
$$;
comment on function tool_rag._known_requests(int) is
'Requests with the tools that serve them, the newest first: those of the examples.';

create or replace function tool_rag._find_places(
    p_role text, p_server_id int, p_names text[], p_requests text[]
) returns table (request bigint, tool_id int, place int)
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
    -- Each search once, whatever it is joined with.
    with hit as materialized (
        select r.place as request, h.server, h.name, h.rank
        from unnest(p_requests) with ordinality r (request, place)
        cross join lateral tool_rag.search_tools(
            query => r.request, roles => array[p_role], k => 5
        ) h
        where r.request is not null and h.score is not null
    )
    select h.request, t.tool_id, h.rank
    from hit h
    join tool_rag.server s on s.name = h.server and s.server_id = p_server_id
    join tool_rag.tool t on t.server_id = s.server_id and t.name = h.name
    where t.name = any(p_names)
$$;
comment on function tool_rag._find_places(text, int, text[], text[]) is
'Where some tools of a server stand among the first five for requests of a role; null is none.';

create or replace function tool_rag._try_versions(p_server_id int, p_tools jsonb, p_max int)
returns table (
    name text, examined int, known int, first_before int, first int, among_before int, among int,
    requests jsonb
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
    v_role constant text := gen_random_uuid()::text;
    v_names text[];
    v_requests text[];
    v_owners jsonb;
    v_before jsonb := '[]';
    v_after jsonb := '[]';
begin
    select array_agg(r.request order by r.place), jsonb_agg(to_jsonb(r.tool_ids) order by r.place)
    into v_requests, v_owners
    from tool_rag._known_requests(p_max) with ordinality r (request, tool_ids, place)
    where r.request ~ '[^[:space:]]';
    select array_agg(e.value ->> 'name') into v_names from jsonb_array_elements(p_tools) e;

    -- What is tried is taken back with all that follows from it; only the variables stay.
    begin
        perform tool_rag.add_role(v_role);
        perform tool_rag.grant_tools(v_role, '*', '*');
        perform tool_rag._store_tools(p_server_id, p_tools);
        select coalesce(jsonb_agg(to_jsonb(p) || jsonb_build_object('name', t.name)), '[]')
        into v_after
        from tool_rag._find_places(v_role, p_server_id, v_names, v_requests) p
        join tool_rag.tool t on t.tool_id = p.tool_id;
        raise exception 'tried' using errcode = 'TR001';
    exception
        when sqlstate 'TR001' then null;
    end;
    -- What there was before matters where there is something now.
    if v_after <> '[]' and exists (
        select from tool_rag.tool t where t.server_id = p_server_id and t.name = any(v_names)
    ) then
        begin
            perform tool_rag.add_role(v_role);
            perform tool_rag.grant_tools(v_role, '*', '*');
            select coalesce(jsonb_agg(to_jsonb(p)), '[]') into v_before
            from tool_rag._find_places(v_role, p_server_id, v_names, array(
                select case
                    when v_after @> jsonb_build_array(jsonb_build_object('request', r.place))
                        then r.request
                end
                from unnest(v_requests) with ordinality r (request, place)
                order by r.place
            )) p;
            raise exception 'tried' using errcode = 'TR001';
        exception
            when sqlstate 'TR001' then null;
        end;
    end if;

    return query
    with place as (
        select a.name, a.request, a.place, b.place as place_before
        from jsonb_to_recordset(v_after) a (name text, request int, tool_id int, place int)
        left join jsonb_to_recordset(v_before) b (request int, tool_id int, place int)
            on b.request = a.request and b.tool_id = a.tool_id
        where not v_owners -> (a.request - 1) @> to_jsonb(a.tool_id)
    )
    select n.name, coalesce(cardinality(v_requests), 0),
        (select count(distinct e.request)::int from tool_rag.example e),
        (count(*) filter (where p.place = 1 and p.place_before = 1))::int,
        (count(*) filter (where p.place = 1))::int,
        count(p.place_before)::int,
        count(p.place)::int,
        coalesce(
            jsonb_agg(
                jsonb_build_object(
                    'request', v_requests[p.request], 'place', p.place,
                    'place_before', p.place_before, 'tools', (
                        select jsonb_agg(s.name || '/' || t.name order by s.name, t.name)
                        from jsonb_array_elements(v_owners -> (p.request - 1)) o
                        join tool_rag.tool t on t.tool_id = o.value::int
                        join tool_rag.server s on s.server_id = t.server_id
                    )
                )
                order by p.place, p.request
            ) filter (where p.place < coalesce(p.place_before, 6)),
            '[]'
        )
    from unnest(v_names) n (name)
    left join place p on p.name = n.name
    group by n.name
    order by n.name collate "C";
end
$$;
comment on function tool_rag._try_versions(int, jsonb, int) is
'For how many known requests of other tools versions would come first, or among the first five, '
'for how many of these they do already, and for which they would come further ahead. They are '
'stored, searched for by a role that may see everything, and taken back.';

create or replace function tool_rag._find_winners(
    p_server_id int, p_changed jsonb, p_findings jsonb
) returns jsonb
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_setting tool_rag.review_setting;
    v_tools jsonb;
begin
    select r.* into v_setting from tool_rag.review_setting r;
    -- Those that wait anyway are tried when somebody looks at them.
    select jsonb_agg(c.value -> 'definition') into v_tools
    from jsonb_array_elements(p_changed) c
    where not jsonb_path_exists(
            coalesce(p_findings -> (c.value ->> 'name'), '[]'), '$[*] ? (@.severity == "high")'
        )
        and not exists (
            select from tool_rag.pending_tool p
            where p.server_id = p_server_id and p.name = c.value ->> 'name'
                and p.hash = (c.value ->> 'hash')::bytea and p.state = 'rejected'
        );
    if v_tools is null
        or not exists (select from tool_rag._known_requests(least(v_setting.known_requests, 1)))
    then
        return '{}';
    end if;
    return (
        select coalesce(jsonb_object_agg(v.name, jsonb_build_array(jsonb_build_object(
            'rule', 'wins_requests', 'severity', 'high', 'field', 'name', 'place', 1,
            'excerpt', format(
                'first for %s of %s known requests that other tools serve, for %s of them already',
                v.first, v.examined, v.first_before
            )
        ))), '{}')
        from tool_rag._try_versions(p_server_id, v_tools, v_setting.known_requests) v
        where v.first - v.first_before >= v_setting.won_requests
    );
end
$$;
comment on function tool_rag._find_winners(int, jsonb, jsonb) is
'A finding for each version that would suddenly come first for many requests of other tools.';

create or replace function tool_rag.list_pending_tools(
    server_pattern text default '*', tool_pattern text default '*', rejected boolean default false
) returns table (
    server text, name text, is_new boolean, state text, reason text, hash text, findings jsonb,
    current jsonb, definition jsonb, submitted_at timestamptz, submitted_by text,
    decided_at timestamptz, decided_by text, note text
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select s.name, p.name, t.tool_id is null, p.state, p.reason, encode(p.hash, 'hex'), p.findings,
        c.current,
        coalesce(c.current, jsonb_build_object('identity_parameters', '[]'::jsonb))
            - '{title,description,input_schema,output_schema,annotations}'::text[]
            || jsonb_build_object('is_action', coalesce(
                (p.definition ->> 'is_action')::boolean,
                case
                    when t.content_hash = tool_rag._content_hash(
                        p.definition ->> 'title', p.definition ->> 'description',
                        p.definition -> 'input_schema', p.definition -> 'output_schema',
                        p.definition -> 'annotations'
                    ) then t.is_action
                end,
                tool_rag._is_action(p.definition -> 'annotations')
            ))
            || p.definition,
        p.submitted_at, p.submitted_by, p.decided_at, p.decided_by, p.note
    from tool_rag.pending_tool p
    join tool_rag.server s on s.server_id = p.server_id
    left join tool_rag.tool t on t.server_id = p.server_id and t.name = p.name
    left join lateral (
        select jsonb_strip_nulls(jsonb_build_object('title', t.title)) || jsonb_build_object(
            'name', t.name, 'description', t.description, 'input_schema', t.input_schema,
            'annotations', t.annotations, 'is_action', t.is_action,
            'identity_parameters', t.identity_parameters
        )
        || case
            when t.output_schema is null then '{}'
            else jsonb_build_object('output_schema', t.output_schema)
        end
        || coalesce((
            select jsonb_build_object('synonyms', jsonb_agg(y.words order by y.words))
            from tool_rag.synonym y
            where y.tool_id = t.tool_id
            having count(*) > 0
        ), '{}') as current
        where t.tool_id is not null
    ) c on true
    where tool_rag._check_unbound()
        and tool_rag._matches(list_pending_tools.server_pattern, s.name)
        and tool_rag._matches(list_pending_tools.tool_pattern, p.name)
        and (p.state <> 'rejected' or list_pending_tools.rejected)
    order by s.name collate "C", p.name collate "C", p.state = 'rejected', p.pending_id
$$;
comment on function tool_rag.list_pending_tools(text, text, boolean) is
'Versions of tools that do not serve: those that wait or that the policy refused, and on demand '
'those that were rejected. current is the tool as it is (null: it is new), definition what it '
'would become. For admins.';

create or replace function tool_rag._pick_pending(
    p_server_pattern text, p_tool_pattern text, p_hashes text[]
) returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids int[];
    v_missing text;
begin
    select coalesce(array_agg(p.pending_id order by p.pending_id), '{}') into v_ids
    from tool_rag.pending_tool p
    join tool_rag.server s on s.server_id = p.server_id
    where tool_rag._matches(p_server_pattern, s.name)
        and tool_rag._matches(p_tool_pattern, p.name)
        and case
            when p_hashes is null then p.state <> 'rejected'
            else encode(p.hash, 'hex') = any(p_hashes)
        end;
    select h into v_missing
    from unnest(p_hashes) with ordinality u (h, place)
    where not exists (
        select from tool_rag.pending_tool p
        where p.pending_id = any(v_ids) and encode(p.hash, 'hex') = u.h
    )
    order by u.place
    limit 1;
    if found then
        raise exception 'no version "%" waits', left(v_missing, 80) using
            errcode = 'invalid_parameter_value',
            hint = 'What its server offers changed since it was shown: look at it again; nothing '
                'was changed.';
    end if;
    return v_ids;
end
$$;
comment on function tool_rag._pick_pending(text, text, text[]) is
'The versions that two patterns name: those that wait, or those of some hashes, all of which must '
'be there.';

create or replace function tool_rag.approve_tools(
    server_pattern text, tool_pattern text default '*', hashes text[] default null
) returns table (server text, name text, is_new boolean)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_ids int[];
    v_server_ids int[];
    v_twice text;
    v_group record;
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    v_ids := tool_rag._pick_pending(
        approve_tools.server_pattern, approve_tools.tool_pattern, approve_tools.hashes
    );
    select s.name || '/' || p.name into v_twice
    from tool_rag.pending_tool p
    join tool_rag.server s on s.server_id = p.server_id
    where p.pending_id = any(v_ids)
    group by s.name, p.name
    having count(*) > 1
    limit 1;
    if found then
        raise exception 'hashes has two versions of %', v_twice using
            errcode = 'invalid_parameter_value',
            hint = 'Only one can serve; nothing was changed.';
    end if;

    return query
    select s.name, p.name, t.tool_id is null
    from tool_rag.pending_tool p
    join tool_rag.server s on s.server_id = p.server_id
    left join tool_rag.tool t on t.server_id = p.server_id and t.name = p.name
    where p.pending_id = any(v_ids)
    order by s.name collate "C", p.name collate "C";

    for v_group in
        select p.server_id, jsonb_agg(p.definition order by p.pending_id) as tools
        from tool_rag.pending_tool p
        where p.pending_id = any(v_ids)
        group by p.server_id
        order by p.server_id
    loop
        perform tool_rag._store_tools(v_group.server_id, v_group.tools);
    end loop;
    v_server_ids := array(
        select distinct p.server_id from tool_rag.pending_tool p where p.pending_id = any(v_ids)
    );
    delete from tool_rag.pending_tool p where p.pending_id = any(v_ids);
    perform tool_rag._refresh_withheld(v_server_ids);
end
$$;
comment on function tool_rag.approve_tools(text, text, text[]) is
'Lets versions serve that wait and fit two patterns, exactly as list_pending_tools showed them. '
'hashes: only these, rejected ones too; an error where one of them is not there, so that nothing '
'can be swapped between look and approval. Returns the tools.';

create or replace function tool_rag.reject_tools(
    server_pattern text, tool_pattern text default '*', hashes text[] default null,
    note text default null
) returns table (server text, name text, is_new boolean)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_ids int[];
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    v_ids := tool_rag._pick_pending(
        reject_tools.server_pattern, reject_tools.tool_pattern, reject_tools.hashes
    );
    update tool_rag.pending_tool p
    set state = 'rejected', decided_at = now(), decided_by = session_user,
        note = coalesce(reject_tools.note, p.note)
    where p.pending_id = any(v_ids);
    return query
    select s.name, p.name, t.tool_id is null
    from tool_rag.pending_tool p
    join tool_rag.server s on s.server_id = p.server_id
    left join tool_rag.tool t on t.server_id = p.server_id and t.name = p.name
    where p.pending_id = any(v_ids)
    order by s.name collate "C", p.name collate "C";
end
$$;
comment on function tool_rag.reject_tools(text, text, text[], text) is
'Rejects versions that wait and fit two patterns, or those of some hashes. The same version is '
'rejected whenever an export brings it again. Returns the tools.';

create or replace function tool_rag._refresh_withheld(p_server_ids int[]) returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
    update tool_rag.tool t
    set withheld = w.withheld
    from (
        select o.tool_id, tool_rag._review_policy(s) = 'withhold' and (
            o.withheld or exists (
                select from tool_rag.pending_tool p
                where p.server_id = o.server_id and p.name = o.name and p.state <> 'rejected'
            )
        ) as withheld
        from tool_rag.tool o
        join tool_rag.server s on s.server_id = o.server_id
        where p_server_ids is null or o.server_id = any(p_server_ids)
    ) w
    where w.tool_id = t.tool_id and w.withheld <> t.withheld
$$;
comment on function tool_rag._refresh_withheld(int[]) is
'Hides tools of which another version waits, where that is the policy, and no others. One that is '
'hidden because of a rejected version stays so until its server offers the approved one again. Of '
'some servers; null: of all.';

create or replace function tool_rag.set_review_policy(
    server text, policy text default null, lint text default null,
    create_server boolean default false
) returns void
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_server_id int;
begin
    perform tool_rag._check_unbound();
    if not coalesce(set_review_policy.policy, 'trust')
        = any('{trust,review,withhold,refuse,default}')
    then
        raise exception 'policy is "%"', left(set_review_policy.policy, 100) using
            errcode = 'invalid_parameter_value',
            hint = 'It is trust, review, withhold, refuse, or default for that of all servers.';
    elsif not coalesce(set_review_policy.lint, 'report') = any('{report,quarantine,default}') then
        raise exception 'lint is "%"', left(set_review_policy.lint, 100) using
            errcode = 'invalid_parameter_value',
            hint = 'It is quarantine, report, or default for that of all servers.';
    elsif set_review_policy.server is null
        and 'default' in (set_review_policy.policy, set_review_policy.lint)
    then
        raise exception 'the policy of all servers can''t be default' using
            errcode = 'invalid_parameter_value',
            hint = 'Without a server it is what default stands for.';
    end if;
    if set_review_policy.create_server and (
        set_review_policy.server ~ '[/*]' or length(set_review_policy.server) not between 1 and 256
    ) then
        raise exception 'server is "%"', left(set_review_policy.server, 300) using
            errcode = 'invalid_parameter_value',
            hint = 'A server''s name has 1 to 256 characters, none of them "/" or "*".';
    end if;
    perform tool_rag._lock_catalogue();
    if set_review_policy.server is null then
        update tool_rag.review_setting r
        set review_policy = coalesce(set_review_policy.policy, r.review_policy),
            lint_policy = coalesce(set_review_policy.lint, r.lint_policy);
    else
        if set_review_policy.create_server then
            insert into tool_rag.server (name)
            values (set_review_policy.server)
            on conflict on constraint server_name_key do nothing;
        end if;
        select s.server_id into v_server_id
        from tool_rag.server s
        where s.name = set_review_policy.server;
        if not found then
            raise exception 'server "%" does not exist', set_review_policy.server using
                errcode = 'undefined_object',
                hint = 'See what there is: select * from tool_rag.list_review_policies(); to set a '
                    'policy before its first export, pass create_server => true.';
        end if;
        update tool_rag.server s
        set review_policy = p.review_policy, lint_policy = p.lint_policy, updated_at = now()
        from (
            select nullif(coalesce(set_review_policy.policy, o.review_policy), 'default'),
                nullif(coalesce(set_review_policy.lint, o.lint_policy), 'default')
            from tool_rag.server o
            where o.server_id = v_server_id
        ) p (review_policy, lint_policy)
        where s.server_id = v_server_id
            and (s.review_policy, s.lint_policy)
            is distinct from (p.review_policy, p.lint_policy);
    end if;
    perform tool_rag._refresh_withheld(
        case when v_server_id is not null then array[v_server_id] end
    );
end
$$;
comment on function tool_rag.set_review_policy(text, text, text, boolean) is
'Says what becomes of new and changed tools of a server (null: of all that have no policy of their '
'own): trust, review, withhold or refuse; and of those that the linter flags, where the server is '
'trusted: quarantine or report. Null leaves it, default takes it away. It counts from the next '
'export on.';

create or replace function tool_rag.list_review_policies()
returns table (
    server text, policy text, lint text, is_default boolean, waiting int, rejected int
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select null, r.review_policy, r.lint_policy, true, 0, 0
    from tool_rag.review_setting r
    where tool_rag._check_unbound()
    union all (
        select s.name, tool_rag._review_policy(s), tool_rag._lint_policy(s),
            num_nulls(s.review_policy, s.lint_policy) = 2, coalesce(p.waiting, 0),
            coalesce(p.rejected, 0)
        from tool_rag.server s
        left join (
            select p.server_id, (count(*) filter (where p.state = 'waiting'))::int as waiting,
                (count(*) filter (where p.state <> 'waiting'))::int as rejected
            from tool_rag.pending_tool p
            group by p.server_id
        ) p on p.server_id = s.server_id
        order by s.name collate "C"
    )
$$;
comment on function tool_rag.list_review_policies() is
'The policy of all servers (null), then that of each with the number of its versions that wait and '
'that were rejected or refused.';

create or replace function tool_rag.try_approval(
    server_pattern text, tool_pattern text default '*', hashes text[] default null,
    max_requests int default null
) returns table (
    server text, name text, examined int, known int, first_before int, first int,
    among_before int, among int, requests jsonb
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_max int := coalesce(
        try_approval.max_requests, (select r.known_requests from tool_rag.review_setting r)
    );
    v_ids int[];
    v_group record;
begin
    perform tool_rag._check_unbound();
    if v_max not between 0 and 10000 then
        raise exception 'max_requests is % instead of 0 to 10000', v_max using
            errcode = 'invalid_parameter_value',
            hint = 'Each takes two searches.';
    end if;
    perform tool_rag._lock_catalogue();
    v_ids := tool_rag._pick_pending(
        try_approval.server_pattern, try_approval.tool_pattern, try_approval.hashes
    );
    for v_group in
        select s.name as server, p.server_id, jsonb_agg(p.definition order by p.pending_id) as tools
        from tool_rag.pending_tool p
        join tool_rag.server s on s.server_id = p.server_id
        where p.pending_id = any(v_ids)
        group by s.name, p.server_id
        order by s.name collate "C"
    loop
        return query
        select v_group.server, v.*
        from tool_rag._try_versions(v_group.server_id, v_group.tools, v_max) v;
    end loop;
end
$$;
comment on function tool_rag.try_approval(text, text, text[], int) is
'What approving would do to the known requests of other tools: of how many, the newest, each '
'version would be the first or among the first five, of how many of these it is already, and '
'which. Nothing of it is kept. max_requests: null for that of review_setting.';
