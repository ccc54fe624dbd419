-- The arms of a search. Each scores only tools that the caller may see: all of them where they are
-- few, else candidates that the two indexes propose, each checked against role_tool before it
-- counts. Plans are forced by settings, since a generic plan can't know how much a role sees. All is
-- written in plpgsql because it keeps its plans, which SQL functions do only from Postgres 18 on.

create or replace function tool_rag._read_query(
    p_query text, p_tool_ids int[] default null,
    out lexeme_ids int[], out weights float8[], out frequencies int[], out words text[],
    out terms text[], out term_weights float8[], out expansion text,
    out base float8, out slope float8, out word_count int, out lexeme_count int,
    out document_count int
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = on
as $$
declare
    -- What a synonym's words count, against those that the user wrote.
    v_share constant float8 := 0.5;
    v_most constant int := 100;
    v_text text := btrim(tool_rag._lexical_text(p_query));
    v_words text[] := regexp_split_to_array(v_text, ' +');
    v_config regconfig;
    v_lexemes tsvector;
    v_total_length bigint;
    -- Of the lexemes that stand in the given tools: ids, in order, and in how many of these.
    v_found_ids int[];
    v_found_counts int[];
begin
    select r.text_search_config into v_config from tool_rag.ranking_setting r;
    v_lexemes := to_tsvector(v_config, v_text);
    word_count := cardinality(v_words);
    lexeme_count := least(length(v_lexemes), v_most);
    select string_agg(s.words, ' ' order by s.synonym_id) into expansion
    from tool_rag.synonym s
    where s.term is not null
        and s.term_lexemes && tsvector_to_array(v_lexemes)
        and s.term_lexemes <@ tsvector_to_array(v_lexemes);

    if p_tool_ids is null then
        select s.document_count, s.total_length into document_count, v_total_length
        from tool_rag.catalogue_state s;
    else
        select count(*), coalesce(sum(d.length), 0) into document_count, v_total_length
        from unnest(p_tool_ids) t (tool_id)
        join tool_rag.document d on d.tool_id = t.tool_id;
        -- Their documents are read and no posting, so that the time it takes tells nothing of other
        -- tools.
        select array_agg(f.lexeme_id order by f.lexeme_id), array_agg(f.tools order by f.lexeme_id)
        into v_found_ids, v_found_counts
        from (
            select l.lexeme_id, count(*)::int as tools
            from unnest(p_tool_ids) t (tool_id)
            join tool_rag.document d on d.tool_id = t.tool_id
            cross join unnest(array(
                select l.lexeme_id
                from (
                    (
                        select o.lexeme
                        from unnest(v_lexemes) o
                        order by o.positions[1], o.lexeme
                        limit v_most
                    )
                    union all
                    (
                        select e.lexeme
                        from unnest(to_tsvector(v_config, tool_rag._lexical_text(expansion))) e
                        where e.lexeme <> all(tsvector_to_array(v_lexemes))
                        order by e.positions[1], e.lexeme
                        limit v_most
                    )
                ) q
                join tool_rag.lexeme l on l.lexeme = q.lexeme
            )) l (lexeme_id)
            -- Binary search: a document's lexemes are in order.
            where d.lexeme_ids[width_bucket(l.lexeme_id, d.lexeme_ids)] = l.lexeme_id
            group by l.lexeme_id
        ) f;
    end if;

    select
        array_agg(q.lexeme_id order by q.place) filter (where q.lexeme_id is not null),
        array_agg(q.weight order by q.place) filter (where q.lexeme_id is not null),
        array_agg(q.frequency order by q.place) filter (where q.lexeme_id is not null),
        array_agg(tool_rag._restore_marks(q.word) order by q.place)
            filter (where q.lexeme_id is not null),
        array_agg(q.lexeme order by q.place),
        array_agg(q.weight order by q.place),
        min(q.base), min(q.slope)
    into lexeme_ids, weights, frequencies, words, terms, term_weights, base, slope
    from (
        select f.lexeme_id, q.lexeme, q.word, f.frequency,
            -- idf as in Lucene, never negative.
            q.share * ln(1 + (document_count - f.frequency + 0.5) / (f.frequency + 0.5))
                as weight,
            row_number() over (order by f.frequency, q.lexeme collate "C") as place,
            r.bm25_k1 * (1 - r.bm25_b) as base,
            r.bm25_k1 * r.bm25_b * document_count / greatest(v_total_length, 1) as slope
        from tool_rag.ranking_setting r
        cross join lateral (
            select o.lexeme, 1 as share,
                -- A lexeme's position is that of its word, unless the parser cut the text
                -- differently.
                case when left(v_words[o.positions[1]], 1) = left(o.lexeme, 1)
                    then v_words[o.positions[1]] else o.lexeme
                end as word
            from (
                -- Bounded: of a very long request the first words count. Not the rarest, by which a
                -- caller could tell words of tools that are hidden from words of none.
                select * from unnest(v_lexemes) o order by o.positions[1], o.lexeme limit v_most
            ) o
            union all
            select e.lexeme, v_share, e.lexeme
            from (
                select *
                from unnest(to_tsvector(v_config, tool_rag._lexical_text(expansion))) e
                where e.lexeme <> all(tsvector_to_array(v_lexemes))
                order by e.positions[1], e.lexeme
                limit v_most
            ) e
        ) q
        left join tool_rag.lexeme l on l.lexeme = q.lexeme
        cross join lateral (
            -- What stands in none of the given tools stands nowhere.
            select k.frequency, case when k.frequency > 0 then l.lexeme_id end as lexeme_id
            from (
                select case
                    when p_tool_ids is null then coalesce(l.document_frequency, 0)
                    when v_found_ids[width_bucket(l.lexeme_id, v_found_ids)] = l.lexeme_id
                        then v_found_counts[width_bucket(l.lexeme_id, v_found_ids)]
                    else 0
                end as frequency
            ) k
        ) f
    ) q;
end
$$;
comment on function tool_rag._read_query(text, int[]) is
'The request''s lexemes that stand in any tool, rarest first: their ids, BM25 idf, numbers of tools '
'and words; all its lexemes with their idf; what synonyms of its terms add, whose lexemes count '
'half; the two constants of BM25''s length normalisation; how many words and different lexemes the '
'request has; and the number of all tools. "Any" and "all" are the whole catalogue, or only the given '
'tools, as if there were no others. Of a long request the first hundred lexemes count.';

create or replace function tool_rag._rank_words(
    p_lexeme_ids int[], p_weights float8[], p_frequencies int[], p_terms text[],
    p_term_weights float8[], p_base float8, p_slope float8, p_tool_ids int[], p_limit int
) returns table (tool_id int, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = on
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_tool_ids int[];
    v_scores float8[];
begin
    -- BM25 (Robertson and Zaragoza 2009), exact, over whichever is shorter: the lexemes' postings,
    -- or the tools' documents (of some 30 lexemes each). Without frequencies no posting is read.
    if (select sum(f) from unnest(p_frequencies) f) < 30 * cardinality(p_tool_ids) then
        with hit as materialized (
            select p.tool_id,
                q.weight * p.frequency / (p.frequency + p_base + p_slope * p.length) as score
            from unnest(p_lexeme_ids, p_weights) q (lexeme_id, weight)
            join tool_rag.posting p on p.lexeme_id = q.lexeme_id
        )
        select array_agg(s.tool_id), array_agg(s.score) into v_tool_ids, v_scores
        from (
            select h.tool_id, sum(h.score) as score
            from hit h
            join unnest(p_tool_ids) t (tool_id) on t.tool_id = h.tool_id
            group by h.tool_id
        ) s;
    else
        -- Binary search: a document's lexemes are in order.
        with hit as materialized (
            select d.tool_id, q.weight, d.frequencies[l.place] as frequency,
                p_base + p_slope * d.length as length
            from unnest(p_tool_ids) t (tool_id)
            join tool_rag.document d on d.tool_id = t.tool_id
            cross join unnest(p_lexeme_ids, p_weights) q (lexeme_id, weight)
            cross join lateral (
                select width_bucket(q.lexeme_id, d.lexeme_ids) as place offset 0
            ) l
            where d.lexeme_ids[l.place] = q.lexeme_id
        )
        select array_agg(s.tool_id), array_agg(s.score) into v_tool_ids, v_scores
        from (
            select h.tool_id, sum(h.weight * h.frequency / (h.frequency + h.length)) as score
            from hit h
            group by h.tool_id
        ) s;
    end if;
    -- An example is a short document of its own: a tool scores by the best of all.
    return query
    with lexeme as materialized (
        select x.example_id, x.tool_id, cardinality(x.lexemes) as length,
            unnest(x.lexemes) as lexeme
        from unnest(p_tool_ids) t (tool_id)
        join tool_rag.example x on x.tool_id = t.tool_id
        where exists (select from tool_rag.example)
    )
    select s.tool_id, max(s.score)
    from (
        select * from unnest(v_tool_ids, v_scores) d (tool_id, score)
        union all
        select e.tool_id, e.score
        from (
            select l.tool_id, sum(q.weight / (1 + p_base + p_slope * l.length)) as score
            from lexeme l
            join unnest(p_terms, p_term_weights) q (lexeme, weight) on q.lexeme = l.lexeme
            group by l.example_id, l.tool_id
        ) e
    ) s
    group by s.tool_id
    order by 2 desc, 1
    limit p_limit;
end
$$;
comment on function tool_rag._rank_words(
    int[], float8[], int[], text[], float8[], float8, float8, int[], int
) is
'The word arm over given tools: BM25 of the tool or its best example, exact.';

create or replace function tool_rag._rank_vectors(
    p_embedding @extschema:vector@.halfvec, p_model_id int, p_tool_ids int[], p_limit int
) returns table (tool_id int, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
    if p_embedding is null then
        return;
    end if;
    -- The distance comes before the grouping, so that no vector is carried along.
    return query
    select d.tool_id, -min(d.distance)
    from (
        select v.tool_id, v.embedding operator(@extschema:vector@.<#>) p_embedding as distance
        from tool_rag.tool_vector v
        where v.model_id = p_model_id and v.tool_id = any(p_tool_ids)
        offset 0
    ) d
    group by d.tool_id
    order by 2 desc, 1
    limit p_limit;
end
$$;
comment on function tool_rag._rank_vectors(@extschema:vector@.halfvec, int, int[], int) is
'A vector arm over given tools: the inner product with each tool''s best vector, exact.';

create or replace function tool_rag._propose_by_words(
    p_lexeme_ids int[], p_weights float8[], p_frequencies int[], p_base float8, p_slope float8,
    p_role_ids int[], p_server_ids int[], p_limit int
) returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    -- Postings that may be read: as many as serve 200 proposals, fewer for fewer.
    v_budget constant int := 60 * least(200, p_limit);
    -- How many of the lexemes, rarest first, propose: at least one.
    v_proposing int := greatest(1, (
        select count(*)
        from (
            select sum(frequency) over (order by place) as total
            from unnest(p_frequencies) with ordinality f (frequency, place)
        ) f
        where f.total <= v_budget
    ));
    v_cut int;
    v_tool_ids int[];
begin
    -- The rarest lexemes, up to the budget, propose; the common ones, whose weight is small, count
    -- only when the candidates are scored (the idea of MaxScore; Turtle and Flood 1995). No posting
    -- list is cut, so a role that sees little is not starved: where the best of all proposals don't
    -- hold enough permitted ones, all of them are checked.
    foreach v_cut in array array[5 * p_limit, null] loop
        v_tool_ids := array(
            select c.tool_id
            from (
                select p.tool_id
                from unnest(p_lexeme_ids[: v_proposing], p_weights[: v_proposing])
                    q (lexeme_id, weight)
                join tool_rag.posting p on p.lexeme_id = q.lexeme_id
                group by p.tool_id
                order by
                    sum(q.weight * p.frequency / (p.frequency + p_base + p_slope * p.length)) desc,
                    p.tool_id
                limit v_cut
            ) c
            where exists (
                select
                from tool_rag.role_tool r
                where r.tool_id = c.tool_id and r.role_id = any(p_role_ids)
                    and r.allow_until > statement_timestamp()
                    and r.deny_until <= statement_timestamp()
                    and (p_server_ids is null or r.server_id = any(p_server_ids))
            )
            and (cardinality(p_role_ids) = 1 or not exists (
                select
                from tool_rag.role_tool r
                where r.tool_id = c.tool_id and r.role_id = any(p_role_ids)
                    and r.deny_until > statement_timestamp()
            ))
            limit p_limit
        );
        exit when cardinality(v_tool_ids) = p_limit;
    end loop;
    return v_tool_ids;
end
$$;
comment on function tool_rag._propose_by_words(
    int[], float8[], int[], float8, float8, int[], int[], int
) is
'Permitted tools whose words promise most, for a caller who sees many.';

create or replace function tool_rag._propose_by_vector(
    p_embedding @extschema:vector@.halfvec, p_role_ids int[], p_server_ids int[], p_limit int
) returns int[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set hnsw.ef_search = 250
set hnsw.iterative_scan = strict_order
set hnsw.max_scan_tuples = 40000
as $$
declare
    -- So many are looked at before the scan goes on in steps.
    v_breadth constant int := least(250, greatest(80, 5 * p_limit / 2));
begin
    -- Until the function ends: its own SET clause puts back what was before.
    perform set_config('hnsw.ef_search', v_breadth::text, true);
    return array(
        (
            select v.tool_id
            from tool_rag.tool_vector v
            where v.model_id = 1 and v.kind = 'definition'
                and exists (
                    select
                    from tool_rag.role_tool r
                    where r.tool_id = v.tool_id and r.role_id = any(p_role_ids)
                        and r.allow_until > statement_timestamp()
                        and r.deny_until <= statement_timestamp()
                        and (p_server_ids is null or r.server_id = any(p_server_ids))
                )
                and (cardinality(p_role_ids) = 1 or not exists (
                    select
                    from tool_rag.role_tool r
                    where r.tool_id = v.tool_id and r.role_id = any(p_role_ids)
                        and r.deny_until > statement_timestamp()
                ))
            order by v.embedding::@extschema:vector@.halfvec(256)
                operator(@extschema:vector@.<#>) p_embedding
            limit p_limit
        )
        union all
        (
            select v.tool_id
            from tool_rag.tool_vector v
            where v.model_id = 1 and v.kind <> 'definition'
                and (
                    exists (select from tool_rag.example)
                    or exists (select from tool_rag.synonym)
                )
                and exists (
                    select
                    from tool_rag.role_tool r
                    where r.tool_id = v.tool_id and r.role_id = any(p_role_ids)
                        and r.allow_until > statement_timestamp()
                        and r.deny_until <= statement_timestamp()
                        and (p_server_ids is null or r.server_id = any(p_server_ids))
                )
                and (cardinality(p_role_ids) = 1 or not exists (
                    select
                    from tool_rag.role_tool r
                    where r.tool_id = v.tool_id and r.role_id = any(p_role_ids)
                        and r.deny_until > statement_timestamp()
                ))
            order by v.embedding::@extschema:vector@.halfvec(256)
                operator(@extschema:vector@.<#>) p_embedding
            limit p_limit
        )
    );
end
$$;
comment on function tool_rag._propose_by_vector(@extschema:vector@.halfvec, int[], int[], int) is
'Permitted tools nearest by the built-in model, for a caller who sees many: by definition, then by '
'synonyms and examples; HNSW, scanned on until enough are found.';

create or replace function tool_rag._propose_by_model(
    p_embedding @extschema:vector@.halfvec, p_model_id int, p_role_ids int[], p_server_ids int[],
    p_limit int
) returns int[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set hnsw.ef_search = 250
set hnsw.iterative_scan = strict_order
set hnsw.max_scan_tuples = 40000
as $$
declare
    v_tool_ids int[];
begin
    -- Each model's index has its number and its size in it: only a text of their own finds it.
    execute format(
        $q$
        select array_agg(n.tool_id)
        from (
            select v.tool_id
            from tool_rag.tool_vector v
            where v.model_id = %1$s and v.kind = 'definition'
                and exists (
                    select
                    from tool_rag.role_tool r
                    where r.tool_id = v.tool_id and r.role_id = any($2)
                        and r.allow_until > statement_timestamp()
                        and r.deny_until <= statement_timestamp()
                        and ($3 is null or r.server_id = any($3))
                )
                and (cardinality($2) = 1 or not exists (
                    select
                    from tool_rag.role_tool r
                    where r.tool_id = v.tool_id and r.role_id = any($2)
                        and r.deny_until > statement_timestamp()
                ))
            order by v.embedding::@extschema:vector@.halfvec(%2$s)
                operator(@extschema:vector@.<#>) $1
            limit $4
        ) n
        $q$,
        p_model_id, @extschema:vector@.vector_dims(p_embedding)
    ) into v_tool_ids using p_embedding, p_role_ids, p_server_ids, p_limit;
    return coalesce(v_tool_ids, '{}');
end
$$;
comment on function tool_rag._propose_by_model(
    @extschema:vector@.halfvec, int, int[], int[], int
) is
'Permitted tools nearest by another model, for a caller who sees many.';

create or replace function tool_rag._candidates(
    p_lexeme_ids int[], p_weights float8[], p_frequencies int[], p_base float8, p_slope float8,
    p_embedding @extschema:vector@.halfvec, p_model_id int,
    p_model_vector @extschema:vector@.halfvec, p_role_ids int[], p_server_ids int[], p_gate int[],
    p_depth int, p_exact boolean
) returns int[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    -- A caller who sees at most so many tools has every one scored.
    v_few constant int := 3000;
    v_tool_ids int[];
    v_near int[];
begin
    -- What does not follow from roles alone was made out before, tool by tool.
    if p_gate is not null then
        return p_gate;
    end if;
    -- Of one role the rows are the tools; of several a tool may have more than one, and a deny.
    v_tool_ids := array(
        select r.tool_id
        from tool_rag.role_tool r
        where r.role_id = any(p_role_ids)
            and r.allow_until > statement_timestamp()
            and r.deny_until <= statement_timestamp()
            and (p_server_ids is null or r.server_id = any(p_server_ids))
        limit v_few + 1
    );
    if cardinality(p_role_ids) = 1 and cardinality(v_tool_ids) <= v_few then
        return v_tool_ids;
    elsif not p_exact and cardinality(v_tool_ids) > v_few then
        v_near := tool_rag._propose_by_vector(p_embedding, p_role_ids, p_server_ids, p_depth);
        -- Fewer mean that the scan gave up, as when one role's denies leave little of another's
        -- grants: then every permitted tool is scored after all.
        if p_embedding is null or (select count(distinct n) from unnest(v_near) n) >= p_depth then
            return array(
                select unnest(v_near)
                union
                select unnest(tool_rag._propose_by_model(
                    p_model_vector, p_model_id, p_role_ids, p_server_ids, p_depth
                ))
                where p_model_vector is not null
                union
                select unnest(tool_rag._propose_by_words(
                    p_lexeme_ids, p_weights, p_frequencies, p_base, p_slope, p_role_ids,
                    p_server_ids, 2 * p_depth
                ))
            );
        end if;
    end if;
    return array(select p.tool_id from tool_rag._permitted(p_role_ids, p_server_ids) p);
end
$$;
comment on function tool_rag._candidates(
    int[], float8[], int[], float8, float8, @extschema:vector@.halfvec, int,
    @extschema:vector@.halfvec, int[], int[], int[], int, boolean
) is
'The permitted tools to score: all where they are few, else those that the indexes propose.';
