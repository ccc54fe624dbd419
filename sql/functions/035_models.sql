-- Models beside the built-in one: their registry, what they have still to embed, their vectors.
-- A client computes the vectors; everything else is here.

create or replace function tool_rag._find_model(p_name text) returns tool_rag.embedding_model
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_model tool_rag.embedding_model;
begin
    select m.* into v_model from tool_rag.embedding_model m where m.name = p_name;
    if not found then
        raise exception 'there is no embedding model "%"', p_name using
            errcode = 'undefined_object',
            hint = format(
                'There are %s. Add one: select tool_rag.add_embedding_model(''name'', 384).',
                (select string_agg(m.name, ', ' order by m.model_id) from tool_rag.embedding_model m)
            );
    end if;
    return v_model;
end
$$;
comment on function tool_rag._find_model(text) is 'A model by name, or an error that names them all.';

create or replace function tool_rag.add_embedding_model(
    name text, dimensions int, query_prompt text default '', document_prompt text default ''
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_model tool_rag.embedding_model;
begin
    perform tool_rag._check_unbound();
    if coalesce(add_embedding_model.name, '') !~ '[^[:space:]]'
        or length(add_embedding_model.name) > 256
        or coalesce(add_embedding_model.dimensions, 0) not between 1 and 4000
    then
        raise exception 'a model needs a name of 1 to 256 characters and 1 to 4000 dimensions' using
            errcode = 'invalid_parameter_value',
            hint = 'For example: select tool_rag.add_embedding_model(''bge-small-en-v1.5'', 384).';
    end if;
    perform tool_rag._lock_catalogue();
    select m.* into v_model
    from tool_rag.embedding_model m
    where m.name = add_embedding_model.name;
    if found then
        if v_model.dimensions <> add_embedding_model.dimensions then
            raise exception 'the model "%" has % dimensions here, not %', v_model.name,
                v_model.dimensions, add_embedding_model.dimensions
                using errcode = 'invalid_parameter_value',
                hint = 'Take another name, or drop it first: '
                    'select tool_rag.drop_embedding_model(''name'').';
        end if;
        update tool_rag.embedding_model m
        set query_prompt = coalesce(add_embedding_model.query_prompt, ''),
            document_prompt = coalesce(add_embedding_model.document_prompt, '')
        where m.model_id = v_model.model_id;
        return false;
    end if;
    insert into tool_rag.embedding_model as m (name, dimensions, query_prompt, document_prompt)
    values (
        add_embedding_model.name, add_embedding_model.dimensions,
        coalesce(add_embedding_model.query_prompt, ''),
        coalesce(add_embedding_model.document_prompt, '')
    )
    returning m.* into v_model;
    -- Each model has an index of its own, since its vectors have a size of their own.
    execute format(
        'create index tool_vector_model_%1$s_idx on tool_rag.tool_vector using hnsw ('
        '(embedding::@extschema:vector@.halfvec(%2$s)) @extschema:vector@.halfvec_ip_ops) '
        'with (ef_construction = 128) where model_id = %1$s and kind = ''definition''',
        v_model.model_id, v_model.dimensions
    );
    return true;
end
$$;
comment on function tool_rag.add_embedding_model(text, int, text, text) is
'Registers a model whose vectors a client computes, or changes its prompts; true where it is new. '
'It counts in searches once it is in use (use_embedding_model) or named by the caller.';

create or replace function tool_rag.drop_embedding_model(name text) returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_model constant tool_rag.embedding_model :=
        tool_rag._find_model(drop_embedding_model.name);
    v_count int;
begin
    perform tool_rag._check_unbound();
    if v_model.model_id = 1 then
        raise exception 'the built-in model can''t be dropped' using
            errcode = 'invalid_parameter_value',
            hint = 'Every search needs it.';
    end if;
    perform tool_rag._lock_catalogue();
    execute format('drop index if exists tool_rag.tool_vector_model_%s_idx', v_model.model_id);
    delete from tool_rag.tool_vector v where v.model_id = v_model.model_id;
    get diagnostics v_count = row_count;
    delete from tool_rag.embedding_model m where m.model_id = v_model.model_id;
    return v_count;
end
$$;
comment on function tool_rag.drop_embedding_model(text) is
'Removes a model and its vectors; returns how many these were.';

create or replace function tool_rag.use_embedding_model(name text) returns void
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_model constant tool_rag.embedding_model := tool_rag._find_model(use_embedding_model.name);
begin
    perform tool_rag._check_unbound();
    if v_model.model_id <> 1 and exists (select from tool_rag.tool) and not exists (
        select from tool_rag.tool_vector v
        where v.model_id = v_model.model_id and v.kind = 'definition'
    ) then
        raise exception 'the model "%" has embedded no tool yet', v_model.name using
            errcode = 'object_not_in_prerequisite_state',
            hint = 'Embed the catalogue first: tool-rag embed --model NAME.';
    end if;
    perform tool_rag._lock_catalogue();
    update tool_rag.embedding_model m set is_active = false where m.is_active;
    update tool_rag.embedding_model m
    set is_active = true
    where m.model_id = v_model.model_id and v_model.model_id <> 1;
end
$$;
comment on function tool_rag.use_embedding_model(text) is
'From its commit on a search takes a caller''s vector for one of this model; "built-in" goes back.';

create or replace function tool_rag.list_embedding_models() returns table (
    name text, dimensions int, query_prompt text, document_prompt text, is_active boolean,
    embedded bigint, missing bigint
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
    select m.name, m.dimensions, m.query_prompt, m.document_prompt,
        m.is_active or m.model_id = 1 and not exists (
            select from tool_rag.embedding_model a where a.is_active
        ),
        (select count(*) from tool_rag.tool_vector v where v.model_id = m.model_id),
        case when m.model_id = 1 then 0
            else (select count(*) from tool_rag._texts_to_embed(m.model_id))
        end
    from tool_rag.embedding_model m
    where tool_rag._check_unbound()
    order by m.model_id
$$;
comment on function tool_rag.list_embedding_models() is
'The embedding models, with their numbers of vectors and of texts that they have still to embed.';

create or replace function tool_rag._texts_to_embed(p_model_id int) returns table (
    tool_id int, kind text, source_id int, source_hash bytea
)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select s.tool_id, s.kind, s.source_id, h.source_hash
    from (
        select t.tool_id, 'definition' as kind, 0 as source_id, t.content_hash as source_hash
        from tool_rag.tool t
        union all
        select y.tool_id, 'synonym', y.synonym_id, sha256(convert_to(y.words, 'UTF8'))
        from tool_rag.synonym y
        where y.tool_id is not null
        union all
        select e.tool_id, 'example', e.example_id, sha256(convert_to(e.request, 'UTF8'))
        from tool_rag.example e
    ) s
    join tool_rag.embedding_model m on m.model_id = p_model_id
    cross join lateral (
        -- With another prompt before them the same words have another vector.
        select case m.document_prompt
            when '' then s.source_hash
            else sha256(s.source_hash || convert_to(m.document_prompt, 'UTF8'))
        end as source_hash
    ) h
    left join tool_rag.tool_vector v
        on v.model_id = m.model_id and v.tool_id = s.tool_id and v.kind = s.kind
            and v.source_id = s.source_id
    where v.source_hash is distinct from h.source_hash
$$;
comment on function tool_rag._texts_to_embed(int) is
'Texts of which a model has no vector, or one of an earlier wording or document prompt.';

create or replace function tool_rag.texts_to_embed(model text, max_rows int default 256)
returns table (tool_id int, kind text, source_id int, source_hash bytea, content text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_model constant tool_rag.embedding_model := tool_rag._find_model(texts_to_embed.model);
begin
    perform tool_rag._check_unbound();
    if v_model.model_id = 1 then
        return;
    end if;
    return query
    select s.tool_id, s.kind, s.source_id, s.source_hash,
        v_model.document_prompt || left(
            case s.kind
                when 'definition' then (
                    select string_agg(
                        case when f.field in ('name', 'parameter_name')
                            then tool_rag._identifier_words(f.content) else f.content
                        end,
                        '. '
                    )
                    from tool_rag.tool t
                    cross join lateral tool_rag._tool_fields(
                        t.name, t.title, t.description, t.input_schema, null
                    ) f
                    where t.tool_id = s.tool_id and f.content is not null
                )
                when 'synonym' then (
                    select y.words from tool_rag.synonym y where y.synonym_id = s.source_id
                )
                else (select e.request from tool_rag.example e where e.example_id = s.source_id)
            end,
            8000
        )
    from tool_rag._texts_to_embed(v_model.model_id) s
    order by s.tool_id, s.kind, s.source_id
    limit texts_to_embed.max_rows;
end
$$;
comment on function tool_rag.texts_to_embed(text, int) is
'What a model has still to embed, with its document prompt before it: tools that are new or '
'changed, synonyms and examples. For store_vectors.';

create or replace function tool_rag.store_vectors(
    model text, tool_ids int[], kinds text[], source_ids int[], source_hashes bytea[],
    vectors text[]
) returns int
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_model constant tool_rag.embedding_model := tool_rag._find_model(store_vectors.model);
    v_count int;
    v_size int;
begin
    perform tool_rag._check_unbound();
    if v_model.model_id = 1 then
        raise exception 'the built-in model''s vectors are computed here' using
            errcode = 'invalid_parameter_value',
            hint = 'Register another model: select tool_rag.add_embedding_model(''name'', 384).';
    end if;
    select @extschema:vector@.vector_dims(u.vector::@extschema:vector@.vector) into v_size
    from unnest(store_vectors.vectors) u (vector)
    where @extschema:vector@.vector_dims(u.vector::@extschema:vector@.vector)
        <> v_model.dimensions
    limit 1;
    if v_size is not null then
        raise exception 'a vector has % dimensions, the model "%" has %', v_size, v_model.name,
            v_model.dimensions
            using errcode = 'data_exception',
            hint = 'Was it computed by another model?';
    end if;
    -- What was deleted meanwhile is left out; what changed keeps the old hash, and comes again.
    insert into tool_rag.tool_vector as v (
        tool_id, model_id, kind, source_id, source_hash, embedding
    )
    select u.tool_id, v_model.model_id, u.kind, u.source_id, u.source_hash,
        @extschema:vector@.l2_normalize(u.vector::@extschema:vector@.vector)
            ::@extschema:vector@.halfvec
    from unnest(
        store_vectors.tool_ids, store_vectors.kinds, store_vectors.source_ids,
        store_vectors.source_hashes, store_vectors.vectors
    ) u (tool_id, kind, source_id, source_hash, vector)
    where case u.kind
        when 'definition' then exists (
            select from tool_rag.tool t where t.tool_id = u.tool_id
        )
        when 'synonym' then exists (
            select from tool_rag.synonym y
            where y.synonym_id = u.source_id and y.tool_id = u.tool_id
        )
        when 'example' then exists (
            select from tool_rag.example e
            where e.example_id = u.source_id and e.tool_id = u.tool_id
        )
    end
    on conflict on constraint tool_vector_pkey do update
    set embedding = excluded.embedding, source_hash = excluded.source_hash;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function tool_rag.store_vectors(text, int[], text[], int[], bytea[], text[]) is
'Stores what texts_to_embed asked for, each vector as pgvector''s text; returns how many. Of any '
'length: they are brought to length 1.';
