-- Why a shortlist is as it is, and why a tool is not on it.

create or replace function tool_rag._explain_hits(
    p_tool_ids int[], p_needed_by int[], p_needs text[], p_turns int[], p_sent_places int[],
    p_scores float8[], p_relevances float8[], p_requests int[], p_word_places int[],
    p_word_scores float8[], p_meaning_places int[], p_model_places int[],
    p_model_scores float8[], p_model text, p_kept int[], p_texts text[],
    p_kinds text[], p_vectors @extschema:vector@.halfvec[], p_expansions text[],
    p_lexeme_ids int[], p_words text[], p_word_requests int[], p_terms text[],
    p_term_requests int[], p_role_ids int[], p_gate int[]
) returns table (
    place bigint, sent_place int, server text, name text, title text, description text,
    input_schema jsonb, is_action boolean, relevance real, score real, tokens int, reason text,
    explain jsonb
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select
        l.place, l.sent_place, s.name, t.name, t.title, t.description, t.input_schema,
        t.is_action, l.relevance::real, l.score::real, t.token_count,
        concat_ws(
            '; ',
            'needed by ' || n.name || ': ' || l.need,
            'used in turn ' || l.turn,
            case when l.score is null and l.need is null and l.turn is null then 'sent before' end,
            case x.kind when 'part' then 'for: ' || x.text when 'context' then 'earlier: ' || x.text
            end,
            'words: ' || w.words,
            'meaning: ' || to_char(b.similarity, 'FM0.00'),
            'model: ' || to_char(l.model_score, 'FM0.00'),
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
            'model', case when l.model_place is not null then jsonb_build_object(
                'name', p_model, 'rank', l.model_place, 'score', round(l.model_score::numeric, 4)
            ) end,
            'example', b.example,
            'synonym', b.synonym,
            'expansion', p_expansions[x.request],
            'part', case x.kind when 'part' then x.text end,
            'context', case x.kind when 'context' then x.text end,
            'needed', case when n.name is not null then jsonb_build_object(
                'by', n.name, 'reason', l.need
            ) end,
            'used', case when l.turn is not null then jsonb_build_object('turn', l.turn) end,
            'sent', l.sent_place,
            'identity_parameters', t.identity_parameters,
            'grant', g.rule
        ))
    from unnest(
        p_tool_ids, p_needed_by, p_needs, p_turns, p_sent_places, p_scores, p_relevances,
        p_requests, p_word_places, p_word_scores, p_meaning_places, p_model_places,
        p_model_scores
    ) with ordinality l (
        tool_id, needed_by, need, turn, sent_place, score, relevance, request, word_place,
        word_score, meaning_place, model_place, model_score, place
    )
    join tool_rag.tool t on t.tool_id = l.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    cross join lateral (
        select r.request, p_texts[r.request] as text, p_kinds[r.request] as kind
        from (select coalesce(l.request, 1) as request) r
    ) x
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
                -(v.embedding operator(@extschema:vector@.<#>) p_vectors[x.request]) / nullif(
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
            from unnest(p_lexeme_ids, p_words, p_word_requests) q (lexeme_id, word, request)
            join tool_rag.posting o on o.lexeme_id = q.lexeme_id and o.tool_id = l.tool_id
            where q.request = x.request
            union
            select q.word
            from unnest(p_terms, p_term_requests) q (word, request)
            join tool_rag.example e on q.word = any(e.lexemes)
            where b.example_id is not null and e.example_id = b.example_id
                and q.request = x.request
                and not exists (
                    select
                    from unnest(p_lexeme_ids) k (lexeme_id)
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
                'valid_from', nullif(a.valid_from, '-infinity'),
                'valid_until', nullif(a.valid_until, 'infinity'),
                'hours', tool_rag._write_hours(
                    a.weekdays, a.hours_from, a.hours_until, a.time_zone
                )
            ) as rule
        from (
            select min(h.grant_id) filter (where h.allow_until > statement_timestamp()) as grant_id
            from tool_rag.role_tool h
            where h.tool_id = l.tool_id and h.role_id = any(p_role_ids)
            having max(h.allow_until) > statement_timestamp()
                and max(h.deny_until) <= statement_timestamp()
        ) h
        join tool_rag.grant_rule a on a.grant_id = h.grant_id
        join tool_rag.role o on o.role_id = a.role_id
        union all
        -- A trusted backend asked for nobody's roles: what it allows is all there is.
        select 'allowed by the call', null
        where p_role_ids is null
    ) g on true
    where l.tool_id = any(p_kept)
        and (p_gate is null or p_gate[width_bucket(l.tool_id, p_gate)] = l.tool_id);
end
$$;
comment on function tool_rag._explain_hits(
    int[], int[], text[], int[], int[], float8[], float8[], int[], int[], float8[], int[], int[],
    float8[], text, int[], text[], text[], @extschema:vector@.halfvec[], text[], int[], text[],
    int[], text[], int[],
    int[], int[]
) is
'The rows of a shortlist, with the reasons why each tool is on it.';

create or replace function tool_rag.unmatched_words(
    query text, roles text[] default null, servers text[] default null,
    allowed jsonb default null
) returns text[]
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_server_ids constant int[] := tool_rag._server_ids(unmatched_words.servers);
    v_caller record;
    v_visible int[];
    v_config regconfig;
begin
    perform tool_rag._check_search(unmatched_words.query, 1, '{}', null, null, '{}');
    v_caller := tool_rag._caller(unmatched_words.roles, unmatched_words.allowed, v_server_ids);
    v_visible := array(
        select p.tool_id from tool_rag._permitted(v_caller.role_ids, v_server_ids) p
    ) || v_caller.gate;
    select r.text_search_config into v_config from tool_rag.ranking_setting r;
    -- Only documents and examples of permitted tools are read, for a word that stands nowhere as
    -- for one of hidden tools: the time it takes tells nothing of these.
    return array(
        with visible as materialized (
            select d.lexeme_ids
            from unnest(v_visible) p (tool_id)
            join tool_rag.document d on d.tool_id = p.tool_id
        ),
        example as materialized (
            select e.lexemes
            from unnest(v_visible) p (tool_id)
            join tool_rag.example e on e.tool_id = p.tool_id
        ),
        word as (
            select w.word, min(w.place) as place
            from regexp_split_to_table(
                btrim(tool_rag._lexical_text(unmatched_words.query)), ' +'
            ) with ordinality w (word, place)
            group by w.word
            order by 2
            limit 64
        )
        select w.word
        from word w
        cross join lateral tsvector_to_array(to_tsvector(v_config, w.word)) l (lexemes)
        cross join lateral (
            select array_agg(coalesce(x.lexeme_id, 0)) as ids
            from unnest(l.lexemes) o (lexeme)
            left join tool_rag.lexeme x on x.lexeme = o.lexeme
        ) k
        where l.lexemes <> '{}'
            and not exists (select from visible v where v.lexeme_ids && k.ids)
            and not exists (select from example e where e.lexemes && l.lexemes)
        order by w.place
    );
end
$$;
comment on function tool_rag.unmatched_words(text, text[], text[], jsonb) is
'Words of a request that stand in no tool that the caller may see: candidates for synonyms. Words '
'that only other tools have are among them, so that nothing is told of these.';

create or replace function tool_rag.explain_missing(
    query text,
    server text,
    tool text,
    roles text[] default null,
    k int default 8,
    context text[] default '{}',
    conversation text default null,
    servers text[] default null,
    token_budget int default null,
    min_relevance float8 default null,
    options jsonb default '{}',
    allowed jsonb default null
) returns table (outcome text, rank int, relevance real, reason text, detail jsonb)
language plpgsql stable parallel unsafe rows 1 security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_caller record;
    v_tool_id int;
    v_last record;
    v_hit record;
    v_deep record;
begin
    select null::text as server, null::text as name, null::real as score into v_last;
    -- It comes first, so that bad arguments are an error whatever the caller may see. The audit has
    -- this search, which is the caller's, and not those by which it is explained.
    for v_hit in
        select h.*
        from tool_rag._search(
            explain_missing.query, explain_missing.roles, explain_missing.k, null,
            explain_missing.context, explain_missing.conversation, explain_missing.servers,
            explain_missing.token_budget, explain_missing.min_relevance, explain_missing.options,
            explain_missing.allowed, true
        ) h
        order by h.rank
    loop
        if v_hit.server = explain_missing.server and v_hit.name = explain_missing.tool then
            return query select 'listed', v_hit.rank, v_hit.relevance,
                format('it is on the list, at rank %s', v_hit.rank), v_hit.explain;
            return;
        elsif v_hit.score is not null then
            select v_hit.server, v_hit.name, v_hit.score into v_last;
        end if;
    end loop;
    -- What the roles may not see and what does not exist get one answer, by the same steps.
    v_caller := tool_rag._caller(explain_missing.roles, explain_missing.allowed, null);
    v_tool_id := (tool_rag._find_visible(
        array[explain_missing.server], array[explain_missing.tool], v_caller.role_ids,
        v_caller.gate
    ))[1];
    if v_tool_id is null then
        return query select 'not_permitted', null::int, null::real,
            format(
                'these roles may see no tool %s/%s', explain_missing.server, explain_missing.tool
            ),
            null::jsonb;
        return;
    elsif explain_missing.servers is not null and not exists (
        select from unnest(explain_missing.servers) p
        where tool_rag._matches(p, explain_missing.server)
    ) then
        return query select 'other_server', null::int, null::real,
            format('only servers %s were asked', array_to_string(explain_missing.servers, ', ')),
            null::jsonb;
        return;
    end if;

    select h.rank, h.relevance, h.score, h.tokens, h.explain into v_deep
    from tool_rag._search(
        explain_missing.query, explain_missing.roles, 1000, null, explain_missing.context,
        null, explain_missing.servers, null, null,
        explain_missing.options || '{"needs_depth": 0}', explain_missing.allowed, false
    ) h
    where h.server = explain_missing.server and h.name = explain_missing.tool;
    if v_deep.relevance < explain_missing.min_relevance::real then
        return query select 'below_cut_off', v_deep.rank, v_deep.relevance,
            format(
                'its relevance is %s, below %s', v_deep.relevance,
                explain_missing.min_relevance::real
            ),
            v_deep.explain;
        return;
    elsif explain_missing.token_budget is not null and exists (
        select
        from tool_rag._search(
            explain_missing.query, explain_missing.roles, explain_missing.k, null,
            explain_missing.context, explain_missing.conversation, explain_missing.servers,
            null, explain_missing.min_relevance, explain_missing.options,
            explain_missing.allowed, false
        ) h
        where h.server = explain_missing.server and h.name = explain_missing.tool
    ) then
        return query select 'over_budget', v_deep.rank, v_deep.relevance,
            format(
                'it takes %s tokens, and better tools leave too few of %s',
                (select t.token_count from tool_rag.tool t where t.tool_id = v_tool_id),
                explain_missing.token_budget
            ),
            v_deep.explain;
        return;
    end if;
    return query select 'crowded_out', v_deep.rank, v_deep.relevance,
        concat(
            coalesce(
                format(
                    'of all it is at rank %s, with a score of %s', v_deep.rank,
                    round(v_deep.score::numeric, 3)
                ),
                'it is not among the 1000 best: neither its words nor its meaning are near'
            ),
            '; the list ends with ' || v_last.server || '/' || v_last.name || ', with '
                || round(v_last.score::numeric, 3),
            -- Where lists are merged, the best of each part goes before a better score.
            case when v_last.score < v_deep.score
                then ', the best for a part of the request, or named by it'
            end
        ),
        coalesce(v_deep.explain, '{}') || jsonb_build_object(
            'last', v_last.server || '/' || v_last.name,
            'unmatched', tool_rag.unmatched_words(
                explain_missing.query, explain_missing.roles, explain_missing.servers,
                explain_missing.allowed
            )
        );
end
$$;
comment on function tool_rag.explain_missing(
    text, text, text, text[], int, text[], text, text[], int, float8, jsonb, jsonb
) is
'Why a search, with the same arguments, does not return a tool: crowded_out (by better ones), '
'below_cut_off, over_budget, other_server or not_permitted, which also stands for a tool that does '
'not exist; or listed. It tells no more than the roles may know; explain_access tells an admin '
'which rule decides.';

create or replace function tool_rag.search_tools_batch(
    queries text[],
    roles text[] default null,
    limits int[] default null,
    context text[] default '{}',
    conversation text default null,
    servers text[] default null,
    token_budget int default null,
    min_relevance float8 default null,
    options jsonb default '{}',
    allowed jsonb default null
) returns table (
    query_number int, rank int, server text, name text, title text, description text,
    input_schema jsonb, is_action boolean, relevance real, score real, tokens int, reason text,
    explain jsonb
)
language plpgsql stable parallel unsafe rows 20 security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if coalesce(cardinality(search_tools_batch.queries), 0) not between 1 and 100
        or array_ndims(search_tools_batch.queries) > 1
    then
        raise exception 'there are % queries instead of 1 to 100',
            coalesce(cardinality(search_tools_batch.queries), 0)
            using errcode = 'invalid_parameter_value',
            hint = 'Pass them as one array: array[''book a room'', ''mail the guests''].';
    elsif cardinality(search_tools_batch.limits) not in (0, cardinality(search_tools_batch.queries))
    then
        raise exception 'there are % limits for % queries', cardinality(search_tools_batch.limits),
            cardinality(search_tools_batch.queries)
            using errcode = 'invalid_parameter_value',
            hint = 'Pass one for each query, or leave them out for 8 each.';
    end if;
    return query
    select q.place::int, s.*
    from unnest(search_tools_batch.queries, search_tools_batch.limits)
        with ordinality q (query, k, place)
    cross join lateral tool_rag.search_tools(
        q.query, search_tools_batch.roles, coalesce(q.k, 8), null, search_tools_batch.context,
        search_tools_batch.conversation, search_tools_batch.servers,
        search_tools_batch.token_budget, search_tools_batch.min_relevance,
        search_tools_batch.options, search_tools_batch.allowed
    ) s
    order by q.place, s.rank;
end
$$;
comment on function tool_rag.search_tools_batch(
    text[], text[], int[], text[], text, text[], int, float8, jsonb, jsonb
) is
'Several searches in one statement, in order: query_number counts from 1. limits: k for each of them; '
'the other arguments hold for all.';
