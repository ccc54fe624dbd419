-- One request ranked, and several merged: the request itself, its parts, and earlier messages.

create or replace function tool_rag._rank_request(
    p_text text, p_model_id int, p_embedding @extschema:vector@.halfvec, p_role_ids int[],
    p_server_ids int[], p_gate int[], p_limit int, p_depth int, p_options jsonb,
    out lexeme_ids int[], out words text[], out terms text[], out expansion text,
    out vector @extschema:vector@.halfvec, out word_count int,
    out tool_ids int[], out scores float8[], out relevances float8[], out word_places int[],
    out word_scores float8[], out meaning_places int[], out model_places int[],
    out model_scores float8[], out similarity float8
)
language plpgsql stable parallel restricted
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
    v_rrf_k constant float8 := coalesce((p_options ->> 'rrf_k')::float8, 5);
    v_words_weight constant float8 := coalesce((p_options ->> 'words_weight')::float8, 1);
    v_meaning_weight constant float8 := coalesce((p_options ->> 'meaning_weight')::float8, 1);
    v_score_weight constant float8 := coalesce((p_options ->> 'score_weight')::float8, 0.3);
    -- Statistics of the permitted tools alone. Every one of them is scored: what the two indexes
    -- propose depends on others.
    v_is_strict constant boolean := coalesce(p_options ->> 'statistics' = 'permitted', false);
    v_query record;
    v_ids int[];
    v_sameness float8;
    v_model_weight constant float8 := coalesce((p_options ->> 'model_weight')::float8, 1);
    v_model_vector constant @extschema:vector@.halfvec :=
        case when p_model_id <> 1 and v_model_weight > 0 then p_embedding end;
begin
    if v_is_strict then
        -- In order, whatever else the catalogue has.
        v_ids := array(
            select t.tool_id
            from unnest(
                coalesce(p_gate, array(
                    select p.tool_id from tool_rag._permitted(p_role_ids, p_server_ids) p
                ))
            ) t (tool_id)
            order by t.tool_id
        );
    end if;
    v_query := tool_rag._read_query(p_text, v_ids);
    lexeme_ids := v_query.lexeme_ids;
    words := v_query.words;
    terms := v_query.terms;
    expansion := v_query.expansion;
    word_count := v_query.word_count;
    vector := coalesce(
        case when p_model_id = 1 then p_embedding end,
        tool_rag.embed(concat_ws(' ', p_text, expansion))
    );
    v_sameness := -(vector operator(@extschema:vector@.<#>) tool_rag._tool_in_general());
    if not v_is_strict then
        v_ids := tool_rag._candidates(
            lexeme_ids, v_query.weights, v_query.frequencies, v_query.base, v_query.slope, vector,
            p_model_id, v_model_vector, p_role_ids, p_server_ids, p_gate, p_depth,
            coalesce((p_options -> 'exact')::boolean, false)
        );
    end if;
    if v_ids = '{}' then
        return;
    end if;

    -- Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009), and a share of each score as a
    -- fraction of its arm's best: ranks alone can't tell a narrow lead from a wide one. An arm
    -- without a match ranks nothing. Both arms come in order, and so does what is aggregated.
    select
        array_agg(f.tool_id), array_agg(f.score),
        array_agg(tool_rag._relevance(
            f.meaning_score / r.scale, f.word_score, v_query.lexeme_count, v_sameness,
            v_query.document_count
        )),
        array_agg(f.word_place), array_agg(f.word_score), array_agg(f.meaning_place),
        array_agg(f.model_place), array_agg(f.model_score), max(f.meaning_score / r.scale)
    into tool_ids, scores, relevances, word_places, word_scores, meaning_places, model_places,
        model_scores, similarity
    from (
        select
            nullif(r.full_vector_weight + r.short_vector_weight + r.name_vector_weight, 0) as scale
        from tool_rag.ranking_setting r
    ) r
    cross join lateral (
        select a.tool_id,
            sum(
                a.weight
                * (1 / (v_rrf_k + a.place) + v_score_weight * greatest(a.score, 0) / a.best / 2)
            ) as score,
            max(a.place) filter (where a.arm = 'words')::int as word_place,
            max(a.score) filter (where a.arm = 'words') as word_score,
            max(a.place) filter (where a.arm = 'meaning')::int as meaning_place,
            max(a.score) filter (where a.arm = 'meaning') as meaning_score,
            max(a.place) filter (where a.arm = 'model')::int as model_place,
            max(a.score) filter (where a.arm = 'model') as model_score
        from (
            select w.tool_id, w.score, w.place, max(w.score) over () as best,
                v_words_weight as weight, 'words' as arm
            from tool_rag._rank_words(
                lexeme_ids, v_query.weights,
                case when not v_is_strict then v_query.frequencies end, terms, v_query.term_weights,
                v_query.base, v_query.slope, v_ids, p_depth
            ) with ordinality w (tool_id, score, place)
            union all
            select m.tool_id, m.score, m.place, greatest(max(m.score) over (), 1e-6),
                v_meaning_weight, 'meaning'
            from tool_rag._rank_vectors(vector, 1, v_ids, p_depth)
                with ordinality m (tool_id, score, place)
            union all
            select m.tool_id, m.score, m.place, greatest(max(m.score) over (), 1e-6),
                v_model_weight, 'model'
            from tool_rag._rank_vectors(v_model_vector, p_model_id, v_ids, p_depth)
                with ordinality m (tool_id, score, place)
        ) a
        where a.weight > 0
        group by a.tool_id
        order by 2 desc, 8 desc nulls last, 6 desc nulls last, 1
        limit p_limit
    ) f;
end
$$;
comment on function tool_rag._rank_request(
    text, int, @extschema:vector@.halfvec, int[], int[], int[], int, int, jsonb
) is
'The permitted tools that serve one text best, by all arms: in order, with fused scores, relevance '
'and what each arm said; and the text''s lexemes and vector. Everything is null where nothing is '
'permitted or nothing ranks.';

create or replace function tool_rag._is_identifier(p_text text) returns boolean
language sql immutable parallel safe
return p_text ~ '[[:alnum:]][_.-][[:alpha:]]|[[:lower:]][[:upper:]]';
comment on function tool_rag._is_identifier(text) is
'Whether a text is, or holds, what looks like a name rather than a word: create_issue, getUser, a.b.';

create or replace function tool_rag._find_named(p_text text, p_tool_ids int[], p_mode text)
returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    -- At most so many go first, however many a request names: one-word names are everywhere.
    v_most constant int := 3;
    v_share constant float8 := 0.6;
    v_tokens text[];
begin
    if p_mode = 'exact' then
        -- Only what looks like an identifier is taken for a name.
        if not tool_rag._is_identifier(p_text) then
            return '{}';
        end if;
        return array(
            select c.tool_id
            from unnest(p_tool_ids) with ordinality c (tool_id, place)
            join tool_rag.tool t on t.tool_id = c.tool_id
            cross join lateral (select strpos(p_text, t.name) as place) n
            where n.place > 0 and tool_rag._is_identifier(t.name)
                and substr(p_text, n.place - 1, 1) !~ '[\w.-]'
                and substr(p_text, n.place + length(t.name), 2) !~ '^[\w-]|^\.\w'
            order by length(t.name) desc, c.place
            limit v_most
        );
    end if;
    v_tokens := array(
        select distinct m[1]
        from regexp_matches(lower(p_text), '[[:alpha:]]{4,}', 'g') m
        limit 200
    );
    return array(
        select c.tool_id
        from unnest(p_tool_ids) with ordinality c (tool_id, place)
        join tool_rag.tool t on t.tool_id = c.tool_id
        cross join lateral (
            select count(*) as tokens,
                count(*) filter (where exists (
                    select from unnest(v_tokens) w (word)
                    where tool_rag._within_one_edit(w.word, n.token)
                )) as found
            from (
                select distinct lower(m[1]) as token
                from regexp_matches(
                    regexp_replace(t.name, '([[:lower:]])([[:upper:]])', '\1 \2', 'g'),
                    '[[:alpha:]]{4,}', 'g'
                ) m
            ) n
        ) n
        where n.tokens >= 2 and n.found >= v_share * n.tokens
        order by n.found::float8 / n.tokens desc, c.place
        limit v_most
    );
end
$$;
comment on function tool_rag._find_named(text, int[], text) is
'Which of some ranked tools a text names: by their whole identifier (exact), or by 60% of the words '
'of more than three letters in names that have two, give or take a typo (words).';

create or replace function tool_rag._within_one_edit(p_left text, p_right text) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select p_left = p_right or (
        least(length(p_left), length(p_right)) >= 5
        and abs(length(p_left) - length(p_right)) <= 1
        and exists (
            -- Alike before a place and after it: one letter changed, added, dropped or two swapped.
            select
            from generate_series(0, least(length(p_left), length(p_right))) i
            where left(p_left, i) = left(p_right, i) and (
                substr(p_left, i + 2) = substr(p_right, i + 2)
                or substr(p_left, i + 1) = substr(p_right, i + 2)
                or substr(p_left, i + 2) = substr(p_right, i + 1)
                or (
                    substr(p_left, i + 3) = substr(p_right, i + 3)
                    and substr(p_left, i + 1, 1) = substr(p_right, i + 2, 1)
                    and substr(p_left, i + 2, 1) = substr(p_right, i + 1, 1)
                )
            )
        )
    )
$$;
comment on function tool_rag._within_one_edit(text, text) is
'Whether two words are the same but for one letter, where both have five or more.';

create or replace function tool_rag._merge_ranks(
    p_kinds text[], p_weights float8[], p_requests int[], p_tool_ids int[], p_scores float8[],
    p_relevances float8[], p_named int[], p_k int, p_min_relevance float8,
    out tool_ids int[], out scores float8[], out relevances float8[], out requests int[]
)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    with hit as (
        select h.tool_id, h.score, h.relevance, h.request,
            p_kinds[h.request] as kind, p_weights[h.request] as weight,
            row_number() over (
                partition by h.request order by h.score desc, h.ordinal
            ) as place
        from unnest(p_tool_ids, p_scores, p_relevances, p_requests) with ordinality
            h (tool_id, score, relevance, request, ordinal)
    ),
    merged as (
        select h.tool_id,
            -- Of its parts a tool serves one; the whole and the conversation add to that.
            coalesce(max(h.score) filter (where h.kind = 'part'), 0)
                + coalesce(sum(h.weight * h.score) filter (where h.kind <> 'part'), 0) as score,
            max(least(h.weight, 1) * h.relevance) as relevance,
            (array_agg(h.request order by h.weight * h.score desc, h.request))[1] as request,
            coalesce(bool_or(h.kind = 'part' and h.place = 1), false) as is_best,
            coalesce(h.tool_id = any(p_named), false) as is_named
        from hit h
        group by h.tool_id
    ),
    chosen as (
        -- Every part keeps its best.
        select m.*
        from merged m
        -- As real, as a caller reads it.
        where coalesce(m.relevance, 0)::real >= p_min_relevance::real
        order by m.is_named desc, m.is_best desc, m.score desc, m.relevance desc nulls last,
            m.tool_id
        limit p_k
    )
    select
        array_agg(c.tool_id order by c.place), array_agg(c.score order by c.place),
        array_agg(c.relevance order by c.place), array_agg(c.request order by c.place)
    into tool_ids, scores, relevances, requests
    from (
        select c.*,
            row_number() over (
                order by c.is_named desc, c.score desc, c.relevance desc nulls last, c.tool_id
            ) as place
        from chosen c
    ) c;
end
$$;
comment on function tool_rag._merge_ranks(
    text[], float8[], int[], int[], float8[], float8[], int[], int, float8
) is
'One list of several: that of the whole request, of its parts, and of earlier messages, each with a '
'weight; the best of each part is kept, and tools that are named go first.';

create or replace function tool_rag._rank_plan(
    p_texts text[], p_kinds text[], p_model_id int, p_embedding @extschema:vector@.halfvec,
    p_role_ids int[], p_server_ids int[], p_gate int[], p_k int, p_min_relevance float8,
    p_options jsonb,
    out tool_ids int[], out scores float8[], out relevances float8[], out requests int[],
    out word_places int[], out word_scores float8[], out meaning_places int[],
    out model_places int[], out model_scores float8[],
    out vectors @extschema:vector@.halfvec[], out expansions text[],
    out lexeme_ids int[], out words text[], out word_requests int[],
    out terms text[], out term_requests int[]
)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
    -- How deep the lists are that are merged, and the arms of those beside the whole request.
    v_deep constant int := 40;
    -- A request leans on the conversation where it has fewer words, or resembles no tool more.
    v_few_words constant int := 6;
    v_alike constant float8 := 0.3;
    v_context_weight float8 := coalesce((p_options ->> 'context_weight')::float8, 0.8);
    v_parts constant int := (select count(*) from unnest(p_kinds) k where k = 'part');
    v_anchor constant text := coalesce(p_options ->> 'anchor', 'exact');
    v_weights float8[];
    v_is_vague boolean;
    v_is_one constant boolean := cardinality(p_texts) = 1;
    -- A name may be named that is not among the first k.
    v_limit constant int := case
        when v_is_one and v_anchor <> 'words' and not tool_rag._is_identifier(p_texts[1]) then p_k
        else greatest(p_k, v_deep)
    end;
    v_named int[] := '{}';
    v_rank record;
    v_merged record;
begin
    for i in 1 .. cardinality(p_texts) loop
        v_rank := tool_rag._rank_request(
            p_texts[i], p_model_id, case when i = 1 then p_embedding end, p_role_ids,
            p_server_ids, p_gate, v_limit,
            case when i = 1 then greatest(100, v_limit) else v_deep end, p_options
        );
        vectors[i] := v_rank.vector;
        expansions[i] := v_rank.expansion;
        if i = 1 and v_anchor <> 'none' and v_rank.tool_ids is not null then
            v_named := tool_rag._find_named(p_texts[1], v_rank.tool_ids, v_anchor);
        end if;
        v_is_vague := v_rank.word_count < v_few_words and length(p_texts[i]) < 10 * v_few_words
            or coalesce(v_rank.similarity, 0) < v_alike;
        v_weights[i] := case p_kinds[i] when 'part' then 1
            when 'whole' then least(1, 1.5 / greatest(v_parts, 1)) else v_context_weight end;
        if p_kinds[i] = 'whole' and not v_is_vague then
            -- It stands for itself: the conversation only breaks near ties.
            v_context_weight := v_context_weight / 8;
        elsif p_kinds[i] = 'context' and v_is_vague then
            v_weights[i] := v_weights[i] / 2;
        elsif p_kinds[i] = 'context' then
            -- What was said before it counts less.
            v_context_weight := v_context_weight / 2;
        end if;
        lexeme_ids := lexeme_ids || v_rank.lexeme_ids;
        words := words || v_rank.words;
        word_requests := word_requests
            || array_fill(i, array[coalesce(cardinality(v_rank.words), 0)]);
        terms := terms || v_rank.terms;
        term_requests := term_requests
            || array_fill(i, array[coalesce(cardinality(v_rank.terms), 0)]);
        tool_ids := tool_ids || v_rank.tool_ids;
        scores := scores || v_rank.scores;
        relevances := relevances || v_rank.relevances;
        requests := requests
            || array_fill(i, array[coalesce(cardinality(v_rank.tool_ids), 0)]);
        word_places := word_places || v_rank.word_places;
        word_scores := word_scores || v_rank.word_scores;
        meaning_places := meaning_places || v_rank.meaning_places;
        model_places := model_places || v_rank.model_places;
        model_scores := model_scores || v_rank.model_scores;
    end loop;
    if v_is_one and v_named = '{}' and v_limit = p_k and p_min_relevance is null then
        return;
    end if;
    v_merged := tool_rag._merge_ranks(
        p_kinds, v_weights, requests, tool_ids, scores, relevances, v_named, p_k,
        coalesce(p_min_relevance, 0)
    );
    select array_agg(h.word_place order by m.place), array_agg(h.word_score order by m.place),
        array_agg(h.meaning_place order by m.place), array_agg(h.model_place order by m.place),
        array_agg(h.model_score order by m.place)
    into word_places, word_scores, meaning_places, model_places, model_scores
    from unnest(v_merged.tool_ids, v_merged.requests) with ordinality
        m (tool_id, request, place)
    join unnest(
        tool_ids, requests, word_places, word_scores, meaning_places, model_places, model_scores
    ) h (
        tool_id, request, word_place, word_score, meaning_place, model_place, model_score
    )
        on h.tool_id = m.tool_id and h.request = m.request;
    tool_ids := v_merged.tool_ids;
    scores := v_merged.scores;
    relevances := v_merged.relevances;
    requests := v_merged.requests;
end
$$;
comment on function tool_rag._rank_plan(
    text[], text[], int, @extschema:vector@.halfvec, int[], int[], int[], int, float8, jsonb
) is
'The k best tools for the texts of a plan, and by which text each is there; and the lexemes and '
'vectors of all texts, to explain it by.';
