-- The search: from a request and roles to a shortlist that says why.

create or replace function tool_rag._check_search(
    p_query text, p_k int, p_context text[], p_token_budget int,
    p_min_relevance float8, p_options jsonb
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
    where key not in ('exact', 'rrf_k', 'words_weight', 'meaning_weight', 'score_weight',
        'needs_depth')
    order by key
    limit 1;
    if v_unknown is not null then
        raise exception 'options has no "%"', v_unknown using
            errcode = 'invalid_parameter_value',
            hint = 'It takes exact, rrf_k, words_weight, meaning_weight, score_weight and '
                'needs_depth.';
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
    if p_token_budget < 1 then
        raise exception 'token_budget is % instead of at least 1', p_token_budget using
            errcode = 'invalid_parameter_value',
            hint = 'Leave it out for no limit.';
    elsif cardinality(p_context) > 0 or p_min_relevance is not null then
        raise exception 'context and min_relevance are not built yet'
            using errcode = 'feature_not_supported',
            hint = 'Leave them out; see CHANGELOG.md for what this version does.';
    end if;
end
$$;
comment on function tool_rag._check_search(text, int, text[], int, float8, jsonb) is
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

create or replace function tool_rag._fit_budget(
    p_tool_ids int[], p_needed_by int[], p_budget int
) returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kept int[] := '{}';
    v_left int := p_budget;
    v_group int[];
    v_cost int;
begin
    for i in 1 .. cardinality(p_tool_ids) loop
        -- A tool that others need comes with the first of them.
        continue when p_needed_by[i] is not null or p_tool_ids[i] = any(v_kept);
        with recursive needed (tool_id) as (
            select p_tool_ids[i]
            union
            select d.needs_id
            from needed n
            join tool_rag.dependency d on d.tool_id = n.tool_id
            where d.needs_id = any(p_tool_ids)
        )
        select array_agg(n.tool_id), sum(t.token_count) into v_group, v_cost
        from needed n
        join tool_rag.tool t on t.tool_id = n.tool_id
        where n.tool_id <> all(v_kept);
        if v_cost <= v_left then
            v_kept := v_kept || v_group;
            v_left := v_left - v_cost;
        elsif i = 1 then
            raise exception 'token_budget is %, the best tool takes %', p_budget, v_cost using
                errcode = 'invalid_parameter_value',
                hint = 'Raise it: a definition is given whole, with what it needs, or not at all.';
        end if;
    end loop;
    return v_kept;
end
$$;
comment on function tool_rag._fit_budget(int[], int[], int) is
'Of tools in order those that fit a number of tokens, each with what it needs; the first always.';

create or replace function tool_rag.search_tools(
    query text,
    roles text[] default null,
    k int default 8,
    embedding @extschema:vector@.vector default null,
    context text[] default '{}',
    conversation text default null,
    servers text[] default null,
    token_budget int default null,
    min_relevance float8 default null,
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
    v_needs_depth int;
    -- So many tools at the most stay in a conversation's shortlists because it uses them.
    v_sticky constant int := 10;
    v_role_ids int[];
    v_server_ids int[];
    v_tool_ids int[];
    v_vector @extschema:vector@.halfvec;
    v_query record;
    v_list record;
    v_kept int[];
begin
    perform tool_rag._check_search(
        search_tools.query, search_tools.k, search_tools.context, search_tools.token_budget,
        search_tools.min_relevance, search_tools.options
    );
    v_rrf_k := coalesce((search_tools.options ->> 'rrf_k')::float8, 5);
    v_words_weight := coalesce((search_tools.options ->> 'words_weight')::float8, 1);
    v_meaning_weight := coalesce((search_tools.options ->> 'meaning_weight')::float8, 1);
    v_score_weight := coalesce((search_tools.options ->> 'score_weight')::float8, 0.3);
    v_needs_depth := coalesce((search_tools.options ->> 'needs_depth')::numeric::int, 3);
    v_vector := tool_rag._check_embedding(search_tools.embedding);

    v_role_ids := tool_rag._role_ids(search_tools.roles);
    if search_tools.servers is not null then
        select coalesce(array_agg(s.server_id), '{}') into v_server_ids
        from tool_rag.server s
        where exists (
            select from unnest(search_tools.servers) p where tool_rag._matches(p, s.name)
        );
    end if;
    v_query := tool_rag._read_query(search_tools.query);
    v_vector := coalesce(
        v_vector, tool_rag.embed(concat_ws(' ', search_tools.query, v_query.expansion))
    );
    v_tool_ids := tool_rag._candidates(
        v_query.lexeme_ids, v_query.weights, v_query.frequencies, v_query.base, v_query.slope,
        v_vector, v_role_ids, v_server_ids, v_depth,
        coalesce((search_tools.options -> 'exact')::boolean, false)
    );
    if v_tool_ids = '{}' then
        return;
    end if;

    -- One statement ranks and adds what comes on top of k. An arm without a match ranks nothing.
    with word_arm as materialized (
        select a.tool_id, a.score, row_number() over (order by a.score desc, a.tool_id) as place
        from tool_rag._rank_words(
            v_query.lexeme_ids, v_query.weights, v_query.frequencies, v_query.terms,
            v_query.term_weights, v_query.base, v_query.slope, v_tool_ids, v_depth
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
    ),
    used as materialized (
        select u.tool_id, max(u.turn) as turn
        from tool_rag.tool_use u
        where u.conversation = search_tools.conversation
            and u.turn > (
                select max(l.turn) - 3
                from tool_rag.tool_use l
                where l.conversation = search_tools.conversation
            )
            and u.tool_id not in (select tool_id from placed)
            and tool_rag._is_visible(u.tool_id, v_role_ids, v_server_ids)
        group by u.tool_id
        order by 2 desc, 1
        limit v_sticky
    ),
    listed as materialized (
        select p.tool_id, p.rank as place, 0 as part, p.score,
            null::int as needed_by, null::text as need, null::int as turn
        from placed p
        union all
        select n.tool_id, row_number() over (order by n.depth, n.tool_id), 1, null,
            n.needed_by, n.reason, null
        from tool_rag._expand_needs(
            array(select tool_id from placed order by rank)
                || array(select tool_id from used order by turn desc, tool_id),
            v_role_ids, v_server_ids, v_needs_depth
        ) n
        union all
        select u.tool_id, row_number() over (order by u.turn desc, u.tool_id), 2, null,
            null, null, u.turn
        from used u
    )
    select
        array_agg(l.tool_id order by l.part, l.place) as tool_ids,
        array_agg(l.score order by l.part, l.place) as scores,
        array_agg(l.needed_by order by l.part, l.place) as needed_by,
        array_agg(l.need order by l.part, l.place) as needs,
        array_agg(l.turn order by l.part, l.place) as turns,
        array_agg(w.place order by l.part, l.place) as word_places,
        array_agg(w.score order by l.part, l.place) as word_scores,
        array_agg(m.place order by l.part, l.place) as meaning_places
    into v_list
    from listed l
    left join word_arm w on w.tool_id = l.tool_id
    left join meaning_arm m on m.tool_id = l.tool_id;

    if v_list.tool_ids is null then
        return;
    end if;
    v_kept := v_list.tool_ids;
    if search_tools.token_budget is not null then
        v_kept := tool_rag._fit_budget(
            v_list.tool_ids, v_list.needed_by, search_tools.token_budget
        );
    end if;

    return query
    select
        row_number() over (order by l.place)::int, s.name, t.name, t.title, t.description,
        t.input_schema, t.is_action, greatest(b.similarity, 0)::real, l.score::real,
        t.token_count,
        concat_ws(
            '; ',
            'needed by ' || n.name || ': ' || l.need,
            'used in turn ' || l.turn,
            'words: ' || w.words,
            'meaning: ' || to_char(b.similarity, 'FM0.00'),
            'as in: ' || b.example,
            g.words
        ),
        jsonb_strip_nulls(jsonb_build_object(
            'words', case when l.word_place is not null then jsonb_build_object(
                'rank', l.word_place, 'score', round(l.word_score::numeric, 4), 'matched', w.list
            ) end,
            'meaning', case when b.similarity is not null then jsonb_build_object(
                'rank', l.meaning_place, 'score', round(b.similarity::numeric, 4)
            ) end,
            'example', b.example,
            'synonym', b.synonym,
            'expansion', v_query.expansion,
            'needed', case when n.name is not null then jsonb_build_object(
                'by', n.name, 'reason', l.need
            ) end,
            'used', case when l.turn is not null then jsonb_build_object('turn', l.turn) end,
            'grant', g.rule
        ))
    from unnest(
        v_list.tool_ids, v_list.scores, v_list.needed_by, v_list.needs, v_list.turns,
        v_list.word_places, v_list.word_scores, v_list.meaning_places
    ) with ordinality l (
        tool_id, score, needed_by, need, turn, word_place, word_score, meaning_place, place
    )
    join tool_rag.tool t on t.tool_id = l.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    left join lateral (
        select o.name || '/' || d.name as name
        from tool_rag.tool d
        join tool_rag.server o on o.server_id = d.server_id
        where d.tool_id = l.needed_by
    ) n on true
    -- Which of the tool's texts is nearest.
    left join lateral (
        select
            v.similarity,
            case when v.kind = 'example' then v.source_id end as example_id,
            (
                select e.request from tool_rag.example e
                where v.kind = 'example' and e.example_id = v.source_id
            ) as example,
            (
                select y.words from tool_rag.synonym y
                where v.kind = 'synonym' and y.synonym_id = v.source_id
            ) as synonym
        from (
            select v.kind, v.source_id,
                -(v.embedding operator(@extschema:vector@.<#>) v_vector) / nullif(
                    r.full_vector_weight + r.short_vector_weight + r.name_vector_weight, 0
                ) as similarity
            from tool_rag.tool_vector v
            cross join tool_rag.ranking_setting r
            where v.model_id = 1 and v.tool_id = l.tool_id
            order by 3 desc, v.kind, v.source_id
            limit 1
        ) v
    ) b on true
    cross join lateral (
        select string_agg(q.word, ', ' order by q.word) as words,
            jsonb_agg(q.word order by q.word) as list
        from (
            select q.word collate "C" as word
            from unnest(v_query.lexeme_ids, v_query.words) q (lexeme_id, word)
            join tool_rag.posting o on o.lexeme_id = q.lexeme_id and o.tool_id = l.tool_id
            union
            select q.word
            from unnest(v_query.terms) q (word)
            join tool_rag.example e on q.word = any(e.lexemes)
            where e.example_id = b.example_id
                and not exists (
                    select
                    from unnest(v_query.lexeme_ids) k (lexeme_id)
                    join tool_rag.posting o on o.lexeme_id = k.lexeme_id
                    join tool_rag.lexeme x on x.lexeme_id = k.lexeme_id
                    where o.tool_id = l.tool_id and x.lexeme = q.word
                )
        ) q
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
            where h.tool_id = l.tool_id and h.role_id = any(v_role_ids)
            having max(h.allow_until) > statement_timestamp()
                and max(h.deny_until) <= statement_timestamp()
        ) h
        join tool_rag.grant_rule a on a.grant_id = h.grant_id
        join tool_rag.role o on o.role_id = a.role_id
    ) g on true
    where l.tool_id = any(v_kept)
    order by l.place;
end
$$;
comment on function tool_rag.search_tools(
    text, text[], int, @extschema:vector@.vector, text[], text, text[], int, float8, jsonb
) is
'The tools that serve a request, best first, among those that the caller''s roles may see (null: '
'the roles of the setting tool_rag.roles). k: how many; servers: only of servers that fit these '
'patterns; embedding: the built-in model''s vector of the query where the caller has it already; '
'options: {"exact": true} scores every permitted tool; "rrf_k", "words_weight", '
'"meaning_weight" and "score_weight" change the fusion, "needs_depth" how far dependencies are '
'followed (0: not at all). conversation: its tools of the last three turns stay; token_budget: only '
'what fits. Dependencies and tools in use come on top of k. reason and explain say why a tool is '
'there.';
