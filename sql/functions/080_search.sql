-- The search: from a request and roles to a shortlist that says why.

create or replace function tool_rag._check_search(
    p_query text, p_k int, p_context text[], p_token_budget int,
    p_min_relevance float8, p_options jsonb
) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_switches constant text[] := '{exact,split,keep_order}';
    v_numbers constant text[] :=
        '{rrf_k,words_weight,meaning_weight,model_weight,score_weight,context_weight,needs_depth}';
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
    where key <> all(v_switches || v_numbers || '{anchor,model,statistics}'::text[])
    order by key
    limit 1;
    if v_unknown is not null then
        raise exception 'options has no "%"', v_unknown using
            errcode = 'invalid_parameter_value',
            hint = 'It takes anchor, model, statistics, '
                || array_to_string(v_switches || v_numbers[: cardinality(v_numbers) - 1], ', ')
                || ' and ' || v_numbers[cardinality(v_numbers)] || '.';
    end if;
    select key into v_unknown
    from jsonb_each(p_options) o (key, value)
    where key = any(v_switches) and jsonb_typeof(value) <> 'boolean'
    order by key
    limit 1;
    if v_unknown is not null then
        raise exception 'options.% is not true or false', v_unknown using
            errcode = 'invalid_parameter_value',
            hint = format('Pass for example ''{"%s": true}''.', v_unknown);
    elsif p_options ? 'anchor'
        and p_options -> 'anchor' not in ('"exact"'::jsonb, '"words"'::jsonb, '"none"'::jsonb)
    then
        raise exception 'options.anchor is not "exact", "words" or "none"' using
            errcode = 'invalid_parameter_value',
            hint = 'It says which tools that a request names go first.';
    elsif p_options ? 'statistics'
        and p_options -> 'statistics' not in ('"catalogue"'::jsonb, '"permitted"'::jsonb)
    then
        raise exception 'options.statistics is not "catalogue" or "permitted"' using
            errcode = 'invalid_parameter_value',
            hint = 'It says of which tools words are counted: of all, or of those that the caller '
                'may see.';
    elsif p_options ? 'model' and jsonb_typeof(p_options -> 'model') <> 'string' then
        raise exception 'options.model is not the name of a model' using
            errcode = 'invalid_parameter_value',
            hint = 'It says which model made the embedding; see list_embedding_models.';
    end if;
    select key into v_unknown
    from jsonb_each(p_options) o (key, value)
    where key = any(v_numbers)
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
    elsif not p_min_relevance between 0 and 1 then
        raise exception 'min_relevance is % instead of 0 to 1', p_min_relevance using
            errcode = 'invalid_parameter_value',
            hint = 'Leave it out for the k best, however little they serve.';
    end if;
end
$$;
comment on function tool_rag._check_search(text, int, text[], int, float8, jsonb) is
'Refuses arguments of a search that can''t be meant, each with a hint.';

create or replace function tool_rag._check_embedding(
    p_embedding @extschema:vector@.vector, p_model text, out model tool_rag.embedding_model,
    out vector @extschema:vector@.halfvec
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_model is not null then
        model := tool_rag._find_model(p_model);
    end if;
    if p_embedding is null then
        return;
    end if;
    if model is null then
        select m.* into model
        from tool_rag.embedding_model m
        where m.is_active or m.model_id = 1
        order by m.is_active desc
        limit 1;
    end if;
    if @extschema:vector@.vector_dims(p_embedding) <> model.dimensions then
        raise exception 'the embedding has % dimensions, the model "%" has %',
            @extschema:vector@.vector_dims(p_embedding), model.name, model.dimensions
            using errcode = 'data_exception',
            hint = 'Leave it out and the query is embedded here, or name the model that made it: '
                'options => ''{"model": "name"}''.';
    elsif @extschema:vector@.vector_norm(p_embedding) in (0, 'infinity') then
        raise exception 'the embedding has no direction' using
            errcode = 'data_exception',
            hint = 'Leave it out and the query is embedded here.';
    end if;
    vector := @extschema:vector@.l2_normalize(p_embedding)::@extschema:vector@.halfvec;
end
$$;
comment on function tool_rag._check_embedding(@extschema:vector@.vector, text) is
'A caller''s vector at length 1 and the model it is of: the one named, else the one in use; or an '
'error where it can''t be one of that model.';

create or replace function tool_rag._find_companions(
    p_tool_ids int[], p_conversation text, p_role_ids int[], p_server_ids int[], p_gate int[],
    p_options jsonb,
    out tool_ids int[], out needed_by int[], out needs text[], out turns int[],
    out sent_places int[]
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_depth constant int := coalesce((p_options ->> 'needs_depth')::numeric::int, 3);
    -- So many tools at the most stay in a conversation's shortlists because it uses them.
    v_most constant int := 10;
    -- And so many of those it was sent keep their places: a list that only grew would end as the
    -- catalogue.
    v_kept constant int := 50;
    v_used int[];
    v_turns int[];
    v_count constant int := coalesce(cardinality(p_tool_ids), 0);
begin
    tool_ids := '{}';
    if p_conversation is null and not exists (
        select from tool_rag.dependency d where d.tool_id = any(p_tool_ids)
    ) then
        return;
    end if;
    select array_agg(u.tool_id order by u.turn desc, u.tool_id),
        array_agg(u.turn order by u.turn desc, u.tool_id)
    into v_used, v_turns
    from (
        select u.tool_id, max(u.turn) as turn
        from tool_rag.tool_use u
        where u.conversation = p_conversation
            and u.turn > greatest(
                (
                    select max(l.turn)
                    from tool_rag.tool_use l
                    where l.conversation = p_conversation
                ),
                -- The search whose message this is stands in the turn after the last one.
                (
                    select max(m.turn) - 1
                    from tool_rag.message m
                    where m.conversation = p_conversation
                )
            ) - 3
            and (u.tool_id = any(p_tool_ids)) is not true
            and tool_rag._is_visible(u.tool_id, p_role_ids, p_server_ids, p_gate)
        group by u.tool_id
        order by 2 desc, 1
        limit v_most
    ) u;
    with companion as (
        select n.tool_id, 1 as part, row_number() over (order by n.depth, n.tool_id) as place,
            n.needed_by, n.reason as need, null::int as turn
        from tool_rag._expand_needs(
            coalesce(p_tool_ids, '{}') || coalesce(v_used, '{}'), p_role_ids, p_server_ids, p_gate,
            v_depth
        ) n
        union all
        select u.tool_id, 2, u.place, null, null, u.turn
        from unnest(v_used, v_turns) with ordinality u (tool_id, turn, place)
    ),
    sent as materialized (
        select s.tool_id, s.place
        from tool_rag.tool_sent s
        where s.conversation = p_conversation
            and (p_options -> 'keep_order')::boolean
            and tool_rag._is_visible(s.tool_id, p_role_ids, p_server_ids, p_gate)
        order by s.place
        limit v_kept
    ),
    listed as (
        select b.tool_id, 0 as part, b.place, null::int as needed_by, null::text as need,
            null::int as turn
        from unnest(p_tool_ids) with ordinality b (tool_id, place)
        union all
        select c.tool_id, c.part, c.place, c.needed_by, c.need, c.turn
        from companion c
        union all
        select s.tool_id, 3, s.place, null, null, null
        from sent s
        where (s.tool_id = any(p_tool_ids)) is not true
            and s.tool_id not in (select c.tool_id from companion c)
    )
    select array_agg(l.tool_id order by l.part, l.place),
        array_agg(l.needed_by order by l.part, l.place),
        array_agg(l.need order by l.part, l.place), array_agg(l.turn order by l.part, l.place),
        array_agg(s.place order by l.part, l.place)
    into tool_ids, needed_by, needs, turns, sent_places
    from listed l
    left join sent s on s.tool_id = l.tool_id;
    tool_ids := coalesce(tool_ids[v_count + 1 :], '{}');
end
$$;
comment on function tool_rag._find_companions(int[], text, int[], int[], int[], jsonb) is
'What comes on top of the best tools: what they need, tools that the conversation uses with what '
'they need, and with "keep_order" those it was sent. The other arrays begin with the best ones.';

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

create or replace function tool_rag._search(
    p_query text, p_roles text[], p_k int, p_embedding @extschema:vector@.vector,
    p_context text[], p_conversation text, p_servers text[], p_token_budget int,
    p_min_relevance float8, p_options jsonb, p_allowed jsonb, p_is_recorded boolean
) returns table (
    rank int, server text, name text, title text, description text, input_schema jsonb,
    is_action boolean, relevance real, score real, tokens int, reason text, explain jsonb
)
language plpgsql stable parallel unsafe rows 10
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
    v_server_ids int[];
    v_caller record;
    v_plan record;
    v_given record;
    v_best record;
    v_tool_ids int[];
    v_more record;
    v_kept int[];
    v_started constant timestamptz := clock_timestamp();
    v_options jsonb := p_options;
begin
    perform tool_rag._check_search(
        p_query, p_k, p_context, p_token_budget, p_min_relevance, p_options
    );
    if tool_rag._is_strict() then
        v_options := v_options || '{"statistics": "permitted"}';
    end if;
    v_server_ids := tool_rag._server_ids(p_servers);
    v_caller := tool_rag._caller(p_roles, p_allowed, v_server_ids);
    v_plan := tool_rag._plan_request(p_query, p_context, v_options);
    v_given := tool_rag._check_embedding(p_embedding, v_options ->> 'model');
    v_best := tool_rag._rank_plan(
        v_plan.texts, v_plan.kinds, (v_given.model).model_id, v_given.vector,
        v_caller.role_ids, v_server_ids, v_caller.gate, p_k, p_min_relevance, v_options
    );
    v_more := tool_rag._find_companions(
        v_best.tool_ids, p_conversation, v_caller.role_ids, v_server_ids, v_caller.gate, v_options
    );
    v_tool_ids := v_best.tool_ids || v_more.tool_ids;
    v_kept := coalesce(v_tool_ids, '{}');
    if p_token_budget is not null and v_kept <> '{}' then
        v_kept := tool_rag._fit_budget(v_tool_ids, v_more.needed_by, p_token_budget);
    end if;
    if p_is_recorded then
        perform tool_rag._record_search(v_started, p_query, p_roles, p_conversation, v_kept);
    end if;
    if v_kept = '{}' then
        return;
    end if;
    return query
    select row_number() over (order by h.sent_place, h.place)::int, h.server, h.name,
        h.title, h.description, h.input_schema, h.is_action, h.relevance, h.score, h.tokens,
        h.reason, h.explain
    from tool_rag._explain_hits(
        v_tool_ids, v_more.needed_by, v_more.needs, v_more.turns, v_more.sent_places,
        v_best.scores, v_best.relevances, v_best.requests, v_best.word_places,
        v_best.word_scores, v_best.meaning_places, v_best.model_places, v_best.model_scores,
        (v_given.model).name, v_kept, v_plan.texts, v_plan.kinds,
        v_best.vectors, v_best.expansions, v_best.lexeme_ids, v_best.words,
        v_best.word_requests, v_best.terms, v_best.term_requests, v_caller.named_ids,
        v_caller.gate
    ) h
    order by 1;
end
$$;
comment on function tool_rag._search(
    text, text[], int, @extschema:vector@.vector, text[], text, text[], int, float8, jsonb, jsonb,
    boolean
) is
'search_tools, which the audit may record or not: what explains a search searches more than once.';

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
    options jsonb default '{}',
    allowed jsonb default null
) returns table (
    rank int, server text, name text, title text, description text, input_schema jsonb,
    is_action boolean, relevance real, score real, tokens int, reason text, explain jsonb
)
language plpgsql stable parallel unsafe rows 10 security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select s.*
    from tool_rag._search(
        search_tools.query, search_tools.roles, search_tools.k, search_tools.embedding,
        search_tools.context, search_tools.conversation, search_tools.servers,
        search_tools.token_budget, search_tools.min_relevance, search_tools.options,
        search_tools.allowed, true
    ) s;
end
$$;
comment on function tool_rag.search_tools(
    text, text[], int, @extschema:vector@.vector, text[], text, text[], int, float8, jsonb, jsonb
) is
'The tools that serve a request, best first, among those that the caller''s roles may see (null: '
'the roles of the session''s setting, token or login). allowed, as {"server": {"tools": ["name", '
'...]}}, takes away all others before anything is ranked. k: how many; servers: only of servers that fit these '
'patterns; embedding: the query''s vector by a model that was added, the one in use or that of the '
'option "model", which ranks beside the rest; '
'options: {"exact": true} scores every permitted tool; "rrf_k", "words_weight", '
'"meaning_weight", "model_weight" and "score_weight" change the fusion, "needs_depth" how far dependencies are '
'followed (0: not at all); "split" whether several requests in one are told apart, "anchor" which '
'tools that it names go first, "context_weight" what earlier messages count; "keep_order" keeps '
'tools that record_sent noted for the conversation in place; "statistics": "permitted" counts words '
'in the tools that the caller may see and in no other. context: earlier messages of the user, '
'oldest first, which count where the request says little; conversation: its tools of the last three '
'turns stay; token_budget: only what fits; min_relevance: only tools that serve with that '
'probability. Dependencies, tools in use and tools sent before come on top of k. reason and '
'explain say why a tool is there.';
