-- The search: one statement from a request and roles to a shortlist that says why.

create or replace function tool_rag.search_tools(
    query text,
    roles text[] default null,
    k int default 8,
    embedding @extschema:vector@.vector default null,
    context text[] default '{}',
    conversation text default null,
    servers text[] default null,
    token_budget int default null,
    min_relevance real default null,
    options jsonb default '{}'
) returns table (
    rank int, server text, name text, title text, description text, input_schema jsonb,
    is_action boolean, relevance real, score real, tokens int, reason text, explain jsonb
)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    -- From so many permitted tools on, the indexes propose; below, every permitted tool is scored.
    v_few constant int := 3000;
    v_role_ids int[];
    v_server_ids int[];
    v_tool_ids int[];
    v_many boolean;
    v_depth int := greatest(100, search_tools.k);
    v_rrf_k float8 := coalesce((options ->> 'rrf_k')::float8, 10);
    v_vector @extschema:vector@.halfvec;
begin
    if coalesce(btrim(search_tools.query), '') = '' then
        raise exception 'the query is empty' using
            errcode = 'invalid_parameter_value',
            hint = 'Pass the request in the user''s own words.';
    end if;
    v_role_ids := tool_rag._role_ids(search_tools.roles);
    if cardinality(v_role_ids) = 0 then
        return;
    end if;
    if search_tools.servers is not null then
        select coalesce(array_agg(s.server_id), '{}') into v_server_ids
        from tool_rag.server s
        where exists (
            select from unnest(search_tools.servers) p where tool_rag._matches(p, s.name)
        );
    end if;
    v_many := (
        select count(*) > v_few
        from (
            select
            from tool_rag.role_tool r
            where r.role_id = any(v_role_ids)
                and r.allow_until > statement_timestamp()
                and r.deny_until <= statement_timestamp()
                and (v_server_ids is null or r.server_id = any(v_server_ids))
            limit v_few + 1
        ) p
    );
    if not v_many then
        select coalesce(array_agg(p.tool_id), '{}') into v_tool_ids
        from tool_rag._permitted(v_role_ids, v_server_ids) p;
        if v_tool_ids = '{}' then
            return;
        end if;
    end if;
    v_vector := tool_rag.embed(search_tools.query);

    return query
    with arm as materialized (
        select 'words' as arm, a.tool_id, a.score,
            row_number() over (order by a.score desc, a.tool_id) as place
        from (
            select * from tool_rag._rank_lexical_few(search_tools.query, v_tool_ids, v_depth)
            where not v_many
            union all
            select * from tool_rag._rank_lexical_many(
                search_tools.query, v_role_ids, v_server_ids, v_depth, 16000
            )
            where v_many
        ) a
        union all
        select 'meaning', a.tool_id, a.score,
            row_number() over (order by a.score desc, a.tool_id)
        from (
            select * from tool_rag._rank_vectors_few(v_vector, 1, v_tool_ids, v_depth)
            where not v_many
            union all
            select * from tool_rag._rank_vectors_many(v_vector, v_role_ids, v_server_ids, v_depth)
            where v_many
        ) a
    ),
    fused as materialized (
        select a.tool_id, sum(1 / (v_rrf_k + a.place)) as score
        from arm a
        group by a.tool_id
        order by 2 desc, 1
        limit search_tools.k
    )
    select
        row_number() over (order by f.score desc, f.tool_id)::int,
        s.name, t.name, t.title, t.description, t.input_schema, t.is_action,
        null::real, f.score::real, t.token_count, null::text,
        (select jsonb_object_agg(a.arm, jsonb_build_object('rank', a.place, 'score', round(a.score::numeric, 4))) from arm a where a.tool_id = f.tool_id)
    from fused f
    join tool_rag.tool t on t.tool_id = f.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    order by 1;
end
$$;
