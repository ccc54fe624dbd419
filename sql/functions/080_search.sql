-- The search: from a request and roles to a shortlist that says why.

create or replace function tool_rag._check_search(
    p_query text, p_k int, p_context text[], p_conversation text, p_token_budget int,
    p_min_relevance real, p_options jsonb
) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_unknown text;
begin
    if coalesce(p_query, '') !~ '[^[:space:]]' then
        raise exception 'the query is empty' using
            errcode = 'invalid_parameter_value',
            hint = 'Pass the request in the user''s own words.';
    elsif length(p_query) > 20000 then
        raise exception 'the query has % characters; at most 20000 are taken', length(p_query)
            using errcode = 'invalid_parameter_value',
            hint = 'Pass the request itself, without the documents that come with it.';
    elsif p_k is null or p_k < 1 or p_k > 1000 then
        raise exception 'k is % instead of 1 to 1000', coalesce(p_k::text, 'null') using
            errcode = 'invalid_parameter_value',
            hint = 'k is the number of tools to return; 5 to 10 serve most models.';
    elsif p_options is null or jsonb_typeof(p_options) <> 'object' then
        raise exception 'options is not a JSON object' using
            errcode = 'invalid_parameter_value',
            hint = 'Leave it out, or pass for example ''{"exact": true}''.';
    end if;
    select key into v_unknown
    from jsonb_object_keys(p_options) key
    where key not in ('exact', 'rrf_k', 'words_weight', 'meaning_weight', 'score_weight')
    order by key
    limit 1;
    if v_unknown is not null then
        raise exception 'options has no "%"', v_unknown using
            errcode = 'invalid_parameter_value',
            hint = 'It takes exact, rrf_k, words_weight, meaning_weight and score_weight.';
    end if;
    if p_options ? 'exact' and jsonb_typeof(p_options -> 'exact') <> 'boolean' then
        raise exception 'options.exact is not true or false' using
            errcode = 'invalid_parameter_value',
            hint = 'Pass for example ''{"exact": true}''.';
    end if;
    select key into v_unknown
    from jsonb_each(p_options) o (key, value)
    where key <> 'exact'
        and case jsonb_typeof(value)
            when 'number' then value::numeric not between 0 and 1000 else true
        end
    order by key
    limit 1;
    if v_unknown is not null then
        raise exception 'options.% is not a number from 0 to 1000', v_unknown using
            errcode = 'invalid_parameter_value',
            hint = 'Leave it out for the default.';
    end if;
    if cardinality(p_context) > 0 or p_conversation is not null or p_token_budget is not null
        or p_min_relevance is not null
    then
        raise exception 'context, conversation, token_budget and min_relevance are not built yet'
            using errcode = 'feature_not_supported',
            hint = 'Leave them out; see CHANGELOG.md for what this version does.';
    end if;
end
$$;
comment on function tool_rag._check_search(text, int, text[], text, int, real, jsonb) is
'Refuses arguments of a search that can''t be meant, each with a hint.';

create or replace function tool_rag._check_embedding(p_embedding @extschema:vector@.vector)
returns @extschema:vector@.halfvec
language plpgsql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
as $$
begin
    if @extschema:vector@.vector_dims(p_embedding) <> 256 then
        raise exception 'the embedding has % dimensions, the model "built-in" has 256',
            @extschema:vector@.vector_dims(p_embedding)
            using errcode = 'data_exception',
            hint = 'Leave it out and the query is embedded here.';
    elsif @extschema:vector@.vector_norm(p_embedding) in (0, 'infinity') then
        raise exception 'the embedding has no direction' using
            errcode = 'data_exception',
            hint = 'Leave it out and the query is embedded here.';
    end if;
    return @extschema:vector@.l2_normalize(p_embedding)::@extschema:vector@.halfvec;
end
$$;
comment on function tool_rag._check_embedding(@extschema:vector@.vector) is
'A caller''s vector at length 1, or an error where it can''t be one of the built-in model.';

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
language plpgsql stable parallel restricted rows 10
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    v_depth constant int := greatest(100, search_tools.k);
    v_rrf_k float8;
    v_words_weight float8;
    v_meaning_weight float8;
    v_score_weight float8;
    v_role_ids int[];
    v_server_ids int[];
    v_tool_ids int[];
    v_vector @extschema:vector@.halfvec;
    v_query record;
begin
    perform tool_rag._check_search(
        search_tools.query, search_tools.k, search_tools.context, search_tools.conversation,
        search_tools.token_budget, search_tools.min_relevance, search_tools.options
    );
    v_rrf_k := coalesce((search_tools.options ->> 'rrf_k')::float8, 5);
    v_words_weight := coalesce((search_tools.options ->> 'words_weight')::float8, 1);
    v_meaning_weight := coalesce((search_tools.options ->> 'meaning_weight')::float8, 1);
    v_score_weight := coalesce((search_tools.options ->> 'score_weight')::float8, 0.3);
    v_vector := coalesce(
        tool_rag._check_embedding(search_tools.embedding), tool_rag.embed(search_tools.query)
    );

    v_role_ids := tool_rag._role_ids(search_tools.roles);
    if search_tools.servers is not null then
        select coalesce(array_agg(s.server_id), '{}') into v_server_ids
        from tool_rag.server s
        where exists (
            select from unnest(search_tools.servers) p where tool_rag._matches(p, s.name)
        );
    end if;
    v_query := tool_rag._read_query(search_tools.query);
    v_tool_ids := tool_rag._candidates(
        v_query.lexeme_ids, v_query.weights, v_query.frequencies, v_query.base, v_query.slope,
        v_vector, v_role_ids, v_server_ids, v_depth,
        coalesce((search_tools.options -> 'exact')::boolean, false)
    );
    if v_tool_ids = '{}' then
        return;
    end if;

    -- From here on one statement. An arm without a match ranks nothing.
    return query
    with word_arm as materialized (
        select a.tool_id, a.score, row_number() over (order by a.score desc, a.tool_id) as place
        from tool_rag._rank_words(
            v_query.lexeme_ids, v_query.weights, v_query.frequencies, v_query.base,
            v_query.slope, v_tool_ids, v_depth
        ) a
    ),
    meaning_arm as materialized (
        select a.tool_id, a.score, row_number() over (order by a.score desc, a.tool_id) as place
        from tool_rag._rank_vectors(v_vector, 1, v_tool_ids, v_depth) a
    ),
    -- Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009), and a share of each score as a
    -- fraction of its arm's best: ranks alone can't tell a narrow lead from a wide one.
    fused as materialized (
        select a.tool_id,
            sum(
                a.weight * (
                    1 / (v_rrf_k + a.place) + v_score_weight * greatest(a.score, 0) / a.best / 2
                )
            ) as score,
            max(a.score) filter (where a.is_meaning) as meaning
        from (
            select tool_id, place, score, max(score) over () as best, v_words_weight as weight,
                false as is_meaning
            from word_arm
            union all
            select tool_id, place, score, greatest(max(score) over (), 1e-6), v_meaning_weight,
                true
            from meaning_arm
        ) a
        where a.weight > 0
        group by a.tool_id
        order by 2 desc, 3 desc nulls last, 1
        limit search_tools.k
    ),
    placed as materialized (
        select f.*,
            row_number() over (
                order by f.score desc, f.meaning desc nulls last, f.tool_id
            ) as rank
        from fused f
    )
    select
        p.rank::int, s.name, t.name, t.title, t.description, t.input_schema, t.is_action,
        greatest(m.similarity, 0)::real, p.score::real, t.token_count,
        concat_ws(
            '; ',
            'words: ' || w.words,
            'meaning: ' || to_char(m.similarity, 'FM0.00'),
            g.words
        ),
        jsonb_strip_nulls(jsonb_build_object(
            'words', case when wa.place is not null then jsonb_build_object(
                'rank', wa.place, 'score', round(wa.score::numeric, 4), 'matched', w.list
            ) end,
            'meaning', case when ma.place is not null then jsonb_build_object(
                'rank', ma.place, 'score', round(m.similarity::numeric, 4)
            ) end,
            'grant', g.rule
        ))
    from placed p
    join tool_rag.tool t on t.tool_id = p.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    cross join tool_rag.ranking_setting r
    left join word_arm wa on wa.tool_id = p.tool_id
    left join meaning_arm ma on ma.tool_id = p.tool_id
    cross join lateral (
        select ma.score / nullif(
            r.full_vector_weight + r.short_vector_weight + r.name_vector_weight, 0
        ) as similarity
    ) m
    cross join lateral (
        select string_agg(q.word, ', ' order by q.word) as words,
            jsonb_agg(q.word order by q.word) as list
        from unnest(v_query.lexeme_ids, v_query.words) q (lexeme_id, word)
        join tool_rag.posting o on o.lexeme_id = q.lexeme_id and o.tool_id = p.tool_id
    ) w
    -- The rows of role_tool decide once more, and name the rule.
    join lateral (
        select
            format('allowed to %s by %s/%s', o.name, a.server_pattern, a.tool_pattern) as words,
            jsonb_build_object(
                'role', o.name, 'rule', a.server_pattern || '/' || a.tool_pattern,
                'valid_until', nullif(a.valid_until, 'infinity')
            ) as rule
        from (
            select min(h.grant_id) filter (where h.allow_until > statement_timestamp()) as grant_id
            from tool_rag.role_tool h
            where h.tool_id = p.tool_id and h.role_id = any(v_role_ids)
            having max(h.allow_until) > statement_timestamp()
                and max(h.deny_until) <= statement_timestamp()
        ) h
        join tool_rag.grant_rule a on a.grant_id = h.grant_id
        join tool_rag.role o on o.role_id = a.role_id
    ) g on true
    order by p.rank;
end
$$;
comment on function tool_rag.search_tools(
    text, text[], int, @extschema:vector@.vector, text[], text, text[], int, real, jsonb
) is
'The tools that serve a request, best first, among those that the caller''s roles may see (null: '
'the roles of the setting tool_rag.roles). k: how many; servers: only of servers that fit these '
'patterns; embedding: the built-in model''s vector of the query where the caller has it already; '
'options: {"exact": true} scores every permitted tool; "rrf_k", "words_weight", '
'"meaning_weight" and "score_weight" change the fusion. reason and explain say why a tool is there.';
