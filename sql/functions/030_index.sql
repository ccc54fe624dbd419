-- The index of tools: postings and vectors, rewritten for exactly the tools that an edit touched.

create or replace function tool_rag._tool_fields(
    p_name text, p_title text, p_description text, p_input_schema jsonb, p_server text
) returns table (field text, content text)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    -- Parameters below items, anyOf, $defs and the like too, to a depth beyond which a schema is a
    -- trap rather than a description.
    select 'name', p_name
    union all
    select 'title', left(p_title, 50000) where p_title <> ''
    union all
    select 'description', left(p_description, 50000) where p_description <> ''
    union all
    select 'parameter_name', left(string_agg(key #>> '{}', ' '), 50000)
    from jsonb_path_query(
        p_input_schema,
        'strict $.**{0 to 24}.properties ? (@.type() == "object").keyvalue().key', silent => true
    ) key
    union all
    select 'parameter_description', left(string_agg(description #>> '{}', ' '), 50000)
    from jsonb_path_query(
        p_input_schema, 'strict $.**{0 to 24}.description ? (@.type() == "string")', silent => true
    ) description
    union all
    select 'parameter_value', left(string_agg(value #>> '{}', ' '), 50000)
    from (
        select distinct value
        from (
            select jsonb_path_query(
                p_input_schema, 'strict $.**{0 to 24}.enum ? (@.type() == "array")[*]', silent => true
            )
            union all
            select jsonb_path_query(p_input_schema, 'strict $.**{0 to 24}.const', silent => true)
        ) v (value)
        where jsonb_typeof(value) = 'string'
        order by value
        limit 500
    ) v
    union all
    select 'server', p_server
$$;
comment on function tool_rag._tool_fields(text, text, text, jsonb, text) is
'The texts of a tool by which it is found, by field, each at most 50,000 characters (a tsvector '
'holds no more than 1 MB).';

create or replace function tool_rag._identifier_words(p_text text) returns text
language sql immutable parallel safe
return regexp_replace(
    regexp_replace(
        regexp_replace(p_text, '([a-z0-9])([A-Z])', '\1 \2', 'g'),
        '([A-Z])([A-Z][a-z])', '\1 \2', 'g'
    ),
    '[_./:#-]+', ' ', 'g'
);
comment on function tool_rag._identifier_words(text) is
'An identifier as words: getUserInfo, get_user.info -> get User Info, get user info.';

create or replace function tool_rag._index_lexemes(p_tool_ids int[]) returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    -- One statement: postings, lengths and the statistics over them can't part.
    with frequency as materialized (
        select t.tool_id, l.lexeme, sum(cardinality(l.positions) * w.weight)::real as frequency
        from unnest(p_tool_ids) id
        join tool_rag.tool t on t.tool_id = id
        join tool_rag.server s on s.server_id = t.server_id
        cross join tool_rag.ranking_setting r
        cross join lateral (
            select * from tool_rag._tool_fields(
                t.name, t.title, t.description, t.input_schema, s.name
            )
            union all
            select 'synonym', y.words from tool_rag.synonym y where y.tool_id = t.tool_id
        ) f
        join lateral (values
            ('name', r.name_weight),
            ('title', r.title_weight),
            ('description', r.description_weight),
            ('parameter_name', r.parameter_name_weight),
            ('parameter_description', r.parameter_description_weight),
            ('parameter_value', r.parameter_value_weight),
            ('server', r.server_weight),
            ('synonym', r.synonym_weight)
        ) w (field, weight) on w.field = f.field and w.weight > 0
        cross join lateral unnest(
            to_tsvector(r.text_search_config, tool_rag._lexical_text(f.content))
        ) l
        group by t.tool_id, l.lexeme
    ),
    count as (
        select lexeme, count(*)::int as tools from frequency group by lexeme
    ),
    known as (
        update tool_rag.lexeme l
        set document_frequency = l.document_frequency + count.tools
        from count
        where l.lexeme = count.lexeme
        returning l.lexeme_id, l.lexeme
    ),
    -- Not "on conflict", which would use up an identity value for every known lexeme.
    new as (
        insert into tool_rag.lexeme (lexeme, document_frequency)
        select count.lexeme, count.tools
        from count
        where not exists (select from tool_rag.lexeme l where l.lexeme = count.lexeme)
        returning lexeme_id, lexeme
    ),
    occurrence as materialized (
        select l.lexeme_id, f.tool_id, f.frequency
        from frequency f
        join (select * from known union all select * from new) l on l.lexeme = f.lexeme
    ),
    document as (
        insert into tool_rag.document (tool_id, length, lexeme_ids, frequencies)
        select
            t.tool_id,
            coalesce(round(sum(o.frequency)), 0)::int,
            coalesce(
                array_agg(o.lexeme_id order by o.lexeme_id) filter (where o.lexeme_id is not null),
                '{}'
            ),
            coalesce(
                array_agg(o.frequency order by o.lexeme_id) filter (where o.lexeme_id is not null),
                '{}'
            )
        from tool_rag.tool t
        left join occurrence o on o.tool_id = t.tool_id
        where t.tool_id = any(p_tool_ids)
        group by t.tool_id
        returning tool_id, length
    ),
    posting as (
        insert into tool_rag.posting (lexeme_id, tool_id, frequency, length)
        select o.lexeme_id, o.tool_id, o.frequency, d.length
        from occurrence o
        join document d on d.tool_id = o.tool_id
        order by o.lexeme_id, o.tool_id
    )
    update tool_rag.catalogue_state s
    set document_count = s.document_count + d.tools,
        total_length = s.total_length + d.length
    from (select count(*) as tools, coalesce(sum(length), 0) as length from document) d
$$;
comment on function tool_rag._index_lexemes(int[]) is
'Writes the postings and lengths of tools that have none, and adds them to the statistics.';

create or replace function tool_rag._unindex_lexemes(p_tool_ids int[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_emptied int[];
begin
    with document as (
        delete from tool_rag.document
        where tool_id = any(p_tool_ids)
        returning tool_id, length, lexeme_ids
    ),
    posting as (
        delete from tool_rag.posting p
        using document d, unnest(d.lexeme_ids) l
        where p.lexeme_id = l and p.tool_id = d.tool_id
        returning p.lexeme_id
    ),
    less as (
        update tool_rag.lexeme l
        set document_frequency = l.document_frequency - p.tools
        from (select lexeme_id, count(*)::int as tools from posting group by lexeme_id) p
        where l.lexeme_id = p.lexeme_id
        returning l.lexeme_id, l.document_frequency
    ),
    state as (
        update tool_rag.catalogue_state s
        set document_count = s.document_count - d.tools,
            total_length = s.total_length - d.length
        from (select count(*) as tools, coalesce(sum(length), 0) as length from document) d
    )
    select array_agg(lexeme_id) into v_emptied from less where document_frequency = 0;

    delete from tool_rag.lexeme where lexeme_id = any(v_emptied);
end
$$;
comment on function tool_rag._unindex_lexemes(int[]) is
'Takes the postings and lengths of tools away, also from the statistics.';

create or replace function tool_rag._index_vectors(p_tool_ids int[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    delete from tool_rag.tool_vector
    where model_id = 1 and kind in ('definition', 'synonym') and tool_id = any(p_tool_ids);
    -- Other models' vectors stay until a client embeds anew, but not those of what is gone.
    delete from tool_rag.tool_vector v
    where v.model_id <> 1 and v.kind = 'synonym' and v.tool_id = any(p_tool_ids)
        and not exists (select from tool_rag.synonym y where y.synonym_id = v.source_id);

    insert into tool_rag.tool_vector (tool_id, model_id, kind, source_id, embedding)
    select y.tool_id, 1, 'synonym', y.synonym_id, tool_rag._embed_wording(y.words)
    from tool_rag.synonym y
    where y.tool_id = any(p_tool_ids) and tool_rag.embed(y.words) is not null;

    insert into tool_rag.tool_vector (tool_id, model_id, kind, embedding)
    with part as (
        select
            f.tool_id,
            -- The texts that a part belongs to: name in short in full.
            case
                when f.field = 'name' then '{name,short,full}'::text[]
                when f.field in ('title', 'description') then '{short,full}'::text[]
                else '{full}'::text[]
            end as texts,
            case
                when f.field in ('name', 'server', 'parameter_name')
                    then tool_rag._identifier_words(f.content)
                else left(f.content, 10000)
            end as content
        from (
            select t.tool_id, f.field, f.content
            from unnest(p_tool_ids) id
            join tool_rag.tool t on t.tool_id = id
            join tool_rag.server s on s.server_id = t.server_id
            cross join lateral tool_rag._tool_fields(
                t.name, t.title, t.description, t.input_schema, s.name
            ) f
        ) f
    ),
    word as materialized (
        select p.tool_id, p.texts, w.word
        from part p
        cross join lateral (
            select word from tool_rag._words(p.content) word limit 2000
        ) w
    ),
    -- Each distinct word is cut into pieces once.
    vocabulary as materialized (
        select w.word, p.piece
        from (select distinct word from word) w
        cross join lateral (
            select w.word as piece
            where exists (select from tool_rag.word_piece k where k.piece = w.word)
            union all
            select piece
            from unnest(tool_rag._word_pieces(w.word)) piece
            where not exists (select from tool_rag.word_piece k where k.piece = w.word)
        ) p
    ),
    unit as (
        select
            w.tool_id,
            t.text,
            @extschema:vector@.l2_normalize(
                @extschema:vector@.avg(p.embedding::@extschema:vector@.vector)
            ) as embedding
        from word w
        cross join unnest(w.texts) t (text)
        join vocabulary v on v.word = w.word
        join tool_rag.word_piece p on p.piece = v.piece
        group by w.tool_id, t.text
    ),
    weight as (
        -- pgvector multiplies element by element only, so a weight is a vector too.
        select w.text, array_fill(w.weight, array[256])::@extschema:vector@.vector as weight
        from tool_rag.ranking_setting r
        cross join lateral (values
            ('full', r.full_vector_weight),
            ('short', r.short_vector_weight),
            ('name', r.name_vector_weight)
        ) w (text, weight)
    )
    -- In order: sums of single precision differ with it, and a tool's vector is not to depend on
    -- what else is indexed.
    select
        u.tool_id, 1, 'definition',
        @extschema:vector@.sum(
            u.embedding operator(@extschema:vector@.*) w.weight order by u.text collate "C"
        )::@extschema:vector@.halfvec
    from unit u
    join weight w on w.text = u.text
    group by u.tool_id;
end
$$;
comment on function tool_rag._index_vectors(int[]) is
'Computes the built-in model''s vectors of tools anew.';

create or replace function tool_rag._embed_wording(p_text text) returns @extschema:vector@.halfvec
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select (
        tool_rag.embed(p_text)::@extschema:vector@.vector operator(@extschema:vector@.*)
        array_fill(
            r.full_vector_weight + r.short_vector_weight + r.name_vector_weight, array[256]
        )::@extschema:vector@.vector
    )::@extschema:vector@.halfvec
    from tool_rag.ranking_setting r
$$;
comment on function tool_rag._embed_wording(text) is
'The vector of a synonym line or an example, as long as a definition''s can be.';

create or replace function tool_rag._query_terms(p_text text) returns text[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select tsvector_to_array(to_tsvector(r.text_search_config, tool_rag._lexical_text(p_text)))
    from tool_rag.ranking_setting r
$$;
comment on function tool_rag._query_terms(text) is 'The distinct lexemes of a text.';

create or replace function tool_rag._index_examples(p_example_ids int[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    delete from tool_rag.tool_vector v
    using tool_rag.example e
    where e.example_id = any(p_example_ids)
        and v.model_id = 1 and v.tool_id = e.tool_id and v.kind = 'example'
        and v.source_id = e.example_id;

    insert into tool_rag.tool_vector (tool_id, model_id, kind, source_id, embedding)
    select e.tool_id, 1, 'example', e.example_id, w.embedding
    from tool_rag.example e
    cross join lateral (select tool_rag._embed_wording(e.request) as embedding) w
    where e.example_id = any(p_example_ids) and w.embedding is not null;
end
$$;
comment on function tool_rag._index_examples(int[]) is 'Computes the vectors of examples anew.';

create or replace function tool_rag._index_tools(p_tool_ids int[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    -- So many at a time keep a large ingestion's intermediate rows in memory.
    v_chunk constant int := 1000;
    v_ids int[];
begin
    for v_start in 1 .. coalesce(cardinality(p_tool_ids), 0) by v_chunk loop
        v_ids := p_tool_ids[v_start : v_start + v_chunk - 1];
        perform tool_rag._unindex_lexemes(v_ids);
        perform tool_rag._index_lexemes(v_ids);
        perform tool_rag._index_vectors(v_ids);
        perform tool_rag._index_names(v_ids);
    end loop;
end
$$;
comment on function tool_rag._index_tools(int[]) is
'Indexes tools anew, in whatever state they are.';

create or replace function tool_rag.reindex_tools() returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids int[];
begin
    perform tool_rag._check_unbound();
    perform tool_rag._lock_catalogue();
    select coalesce(array_agg(tool_id order by tool_id), '{}') into v_ids from tool_rag.tool;
    perform tool_rag._index_tools(v_ids);
    -- Writing them as they are lets their triggers see the settings of now.
    update tool_rag.synonym set words = words where term is not null;
    update tool_rag.example set request = request;
    return cardinality(v_ids);
end
$$;
comment on function tool_rag.reindex_tools() is
'Indexes every tool anew and returns their number. Needed only after the built-in model was '
'replaced; edits of tools and settings index by themselves.';
