-- The arms of a search. Each reads only what the caller may see, by one of two routes:
-- a caller who sees few tools has them all scored (p_tool_ids); for one who sees many, the index
-- proposes tools in order and each is checked against role_tool before it counts. The routes'
-- plans are forced by settings, since a generic plan can't know how much a role sees.

create or replace function tool_rag._query_lexemes(p_query text)
returns table (lexeme_id int, lexeme text, document_frequency int, weight float8)
language sql stable parallel safe rows 10
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
    -- idf as in Lucene, never negative. Bounded: of a very long request the rarest words count.
    select l.lexeme_id, l.lexeme, l.document_frequency,
        ln(1 + (s.document_count - l.document_frequency + 0.5) / (l.document_frequency + 0.5))
    from tool_rag.ranking_setting r
    cross join tool_rag.catalogue_state s
    cross join lateral unnest(tsvector_to_array(
        to_tsvector(r.text_search_config, tool_rag._lexical_text(p_query))
    )) q (lexeme)
    join tool_rag.lexeme l on l.lexeme = q.lexeme
    order by l.document_frequency, l.lexeme_id
    limit 64
$$;
comment on function tool_rag._query_lexemes(text) is
'The request''s lexemes that stand in any tool, rarest first, with their BM25 idf.';

create or replace function tool_rag._query_words(p_query text)
returns table (word text, lexeme_id int)
language sql stable parallel safe rows 10
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
    select min(w.word), l.lexeme_id
    from tool_rag.ranking_setting r
    cross join lateral regexp_split_to_table(
        left(tool_rag._lexical_text(p_query), 2000), ' +'
    ) w (word)
    cross join lateral unnest(tsvector_to_array(to_tsvector(r.text_search_config, w.word))) q (lexeme)
    join tool_rag.lexeme l on l.lexeme = q.lexeme
    group by l.lexeme_id
$$;
comment on function tool_rag._query_words(text) is
'The request''s words, as written but for case, that stand in any tool, each with its lexeme.';

create or replace function tool_rag._rank_lexical_few(
    p_query text, p_tool_ids int[], p_limit int
) returns table (tool_id int, score float8)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    -- BM25 (Robertson and Zaragoza 2009), exact. A rare lexeme's postings are read and reduced to
    -- the tools; a common one is looked up tool by tool: whichever is shorter.
    with query as materialized (
        select q.lexeme_id, q.document_frequency, q.weight
        from tool_rag._query_lexemes(p_query) q
    ),
    setting as materialized (
        select r.bm25_k1 * (1 - r.bm25_b) as base,
            r.bm25_k1 * r.bm25_b * s.document_count / greatest(s.total_length, 1) as slope
        from tool_rag.ranking_setting r cross join tool_rag.catalogue_state s
    ),
    rare as materialized (
        select p.tool_id, q.weight, p.frequency, p.length
        from query q
        join tool_rag.posting p on p.lexeme_id = q.lexeme_id
        where q.document_frequency <= 2 * cardinality(p_tool_ids)
    ),
    hit as (
        select r.* from rare r join unnest(p_tool_ids) t on t = r.tool_id
        union all
        select p.tool_id, q.weight, p.frequency, p.length
        from query q
        cross join unnest(p_tool_ids) t
        join tool_rag.posting p on p.lexeme_id = q.lexeme_id and p.tool_id = t
        where q.document_frequency > 2 * cardinality(p_tool_ids)
    )
    select h.tool_id, sum(h.weight * h.frequency / (h.frequency + s.base + s.slope * h.length))
    from hit h cross join setting s
    group by h.tool_id
    order by 2 desc, 1
    limit p_limit
$$;
comment on function tool_rag._rank_lexical_few(text, int[], int) is
'The lexical arm over given tools: BM25, exact.';

create or replace function tool_rag._rank_lexical_many(
    p_query text, p_role_ids int[], p_server_ids int[], p_limit int
) returns table (tool_id int, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    -- Postings that may be read to propose candidates.
    v_budget constant int := 16000;
begin
    return query
    -- The rarest lexemes, up to a budget of postings, propose candidates; the common ones, whose
    -- weight is small, are looked up for the best candidates only (the idea of MaxScore; Turtle
    -- and Flood 1995). No posting list is cut, so a role that sees little is not starved.
    with query as materialized (
        select q.lexeme_id, q.weight,
            sum(q.document_frequency) over (order by q.document_frequency, q.lexeme_id)
                <= v_budget
            or row_number() over (order by q.document_frequency, q.lexeme_id) = 1 as proposes
        from tool_rag._query_lexemes(p_query) q
    ),
    setting as materialized (
        select r.bm25_k1 * (1 - r.bm25_b) as base,
            r.bm25_k1 * r.bm25_b * s.document_count / greatest(s.total_length, 1) as slope
        from tool_rag.ranking_setting r cross join tool_rag.catalogue_state s
    ),
    proposed as materialized (
        select p.tool_id,
            sum(q.weight * p.frequency / (p.frequency + s.base + s.slope * p.length)) as score
        from setting s
        cross join query q
        join tool_rag.posting p on p.lexeme_id = q.lexeme_id
        where q.proposes
        group by p.tool_id
    ),
    candidate as materialized (
        select c.tool_id, c.score
        from (
            select p.tool_id, p.score from proposed p order by p.score desc, p.tool_id offset 0
        ) c
        where (
            select max(r.allow_until) > statement_timestamp()
                and max(r.deny_until) <= statement_timestamp()
            from tool_rag.role_tool r
            where r.tool_id = c.tool_id and r.role_id = any(p_role_ids)
                and (p_server_ids is null or r.server_id = any(p_server_ids))
        )
        limit 3 * p_limit
    )
    select c.tool_id, c.score + coalesce(rest.score, 0)
    from candidate c
    cross join lateral (
        select sum(q.weight * p.frequency / (p.frequency + s.base + s.slope * p.length)) as score
        from setting s
        cross join query q
        join tool_rag.posting p on p.lexeme_id = q.lexeme_id and p.tool_id = c.tool_id
        where not q.proposes
    ) rest
    order by 2 desc, 1
    limit p_limit;
end
$$;
comment on function tool_rag._rank_lexical_many(text, int[], int[], int) is
'The lexical arm for a caller who sees many tools: BM25 over candidates that the rarest lexemes '
'propose.';

create or replace function tool_rag._rank_vectors_few(
    p_embedding @extschema:vector@.halfvec, p_model_id int, p_tool_ids int[], p_limit int
) returns table (tool_id int, score float8)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
    -- The distance comes before the grouping, so that no vector is carried along.
    select d.tool_id, -min(d.distance)
    from (
        select v.tool_id, v.embedding operator(@extschema:vector@.<#>) p_embedding as distance
        from unnest(p_tool_ids) t
        join tool_rag.tool_vector v on v.model_id = p_model_id and v.tool_id = t
        where p_embedding is not null
        offset 0
    ) d
    group by d.tool_id
    order by 2 desc, 1
    limit p_limit
$$;
comment on function tool_rag._rank_vectors_few(@extschema:vector@.halfvec, int, int[], int) is
'A vector arm over given tools: the inner product with each tool''s best vector, exact.';

create or replace function tool_rag._rank_vectors_many(
    p_embedding @extschema:vector@.halfvec, p_role_ids int[], p_server_ids int[], p_limit int
) returns table (tool_id int, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
set hnsw.ef_search = 200
set hnsw.iterative_scan = strict_order
set hnsw.max_scan_tuples = 40000
as $$
declare
    v_tool_ids int[];
    v_scores float8[];
begin
    select array_agg(n.tool_id order by n.distance, n.tool_id),
        array_agg(-n.distance order by n.distance, n.tool_id)
    into v_tool_ids, v_scores
    from (
        select v.tool_id,
            v.embedding::@extschema:vector@.halfvec(256)
                operator(@extschema:vector@.<#>) p_embedding as distance
        from tool_rag.tool_vector v
        where v.model_id = 1
            and (
                select max(r.allow_until) > statement_timestamp()
                    and max(r.deny_until) <= statement_timestamp()
                from tool_rag.role_tool r
                where r.tool_id = v.tool_id and r.role_id = any(p_role_ids)
                    and (p_server_ids is null or r.server_id = any(p_server_ids))
            )
        order by v.embedding::@extschema:vector@.halfvec(256)
            operator(@extschema:vector@.<#>) p_embedding
        limit p_limit
    ) n;
    if cardinality(v_tool_ids) = p_limit or p_embedding is null then
        return query select * from unnest(v_tool_ids, v_scores);
    else
        -- The scan gave up, as when one role's denies leave little of another's grants.
        return query
        select f.*
        from tool_rag._rank_vectors_few(
            p_embedding, 1,
            array(select p.tool_id from tool_rag._permitted(p_role_ids, p_server_ids) p),
            p_limit
        ) f;
    end if;
end
$$;
comment on function tool_rag._rank_vectors_many(@extschema:vector@.halfvec, int[], int[], int) is
'The built-in vector arm for a caller who sees many tools: HNSW, scanned on until enough permitted '
'tools are found.';
