-- Synonyms and examples: how people say what tools call otherwise.

create or replace function tool_rag._tool_id(p_server text, p_tool text) returns int
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select t.tool_id
    from tool_rag.tool t
    join tool_rag.server s on s.server_id = t.server_id
    where s.name = p_server and t.name = p_tool
$$;
comment on function tool_rag._tool_id(text, text) is 'A tool by its names, or null.';

create or replace function tool_rag._find_tool(p_server text, p_tool text) returns int
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tool_id constant int := tool_rag._tool_id(p_server, p_tool);
    v_near text;
begin
    if v_tool_id is null then
        select string_agg(n.name, ', ' order by n.place) into v_near
        from tool_rag._nearest_tools(p_server, p_tool, 3) n;
        raise exception 'tool "%/%" does not exist', p_server, p_tool using
            errcode = 'undefined_object',
            hint = coalesce(
                'Nearest: ' || v_near || '.',
                'List them: select * from tool_rag.list_tools(), or: tool-rag tools list.'
            );
    end if;
    return v_tool_id;
end
$$;
comment on function tool_rag._find_tool(text, text) is
'A tool''s id, or an error that names the nearest ones. For admins: it tells what exists.';

create or replace function tool_rag._nearest_tools(p_server text, p_tool text, p_limit int)
returns table (name text, place bigint)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select s.name || '/' || t.name,
        row_number() over (
            order by n.similarity + case when s.name = p_server then 0.1 else 0 end desc,
                s.name collate "C", t.name collate "C"
        )
    -- What is longer than any name is like none; comparing it would take minutes.
    from tool_rag._near_names(tool_rag._fold_name(left(p_tool, 512)), null, null, null) n
    join tool_rag.tool t on t.tool_id = n.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    where n.similarity >= 0.5
    order by 2
    limit p_limit
$$;
comment on function tool_rag._nearest_tools(text, text, int) is
'Tools whose names are most like a name that no tool has.';

create or replace function tool_rag.add_synonym(
    words text, server text default null, tool text default null, term text default null
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tool_id int;
    v_count int;
begin
    perform tool_rag._check_unbound();
    if (add_synonym.tool is null) = (add_synonym.term is null)
        or (add_synonym.server is null) <> (add_synonym.tool is null)
    then
        raise exception 'a synonym is for a tool (server and tool) or for a term, one of them'
            using errcode = 'invalid_parameter_value',
            hint = 'add_synonym(words => ''money back'', server => ''shop'', tool => ''refund'') or '
                'add_synonym(words => ''invoice'', term => ''bill'').';
    elsif coalesce(add_synonym.words, '') !~ '[^[:space:]]' or length(add_synonym.words) > 1000 then
        raise exception 'words has % characters instead of 1 to 1000',
            coalesce(length(add_synonym.words), 0)
            using errcode = 'invalid_parameter_value',
            hint = 'Write the words that people use, separated by spaces.';
    elsif cardinality(tool_rag._query_terms(add_synonym.term)) = 0 or length(add_synonym.term) > 200
    then
        raise exception 'the term "%" has no word that a search would see',
            left(add_synonym.term, 200)
            using errcode = 'invalid_parameter_value',
            hint = 'Stop words and punctuation don''t count.';
    end if;
    if add_synonym.tool is not null then
        v_tool_id := tool_rag._find_tool(add_synonym.server, add_synonym.tool);
    end if;
    insert into tool_rag.synonym (tool_id, term, words)
    values (v_tool_id, add_synonym.term, add_synonym.words)
    on conflict on constraint synonym_key do nothing;
    get diagnostics v_count = row_count;
    return v_count = 1;
end
$$;
comment on function tool_rag.add_synonym(text, text, text, text) is
'Words by which people mean one tool, or a term of any request; true where they are new.';

create or replace function tool_rag.remove_synonym(
    words text, server text default null, tool text default null, term text default null
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count int;
begin
    perform tool_rag._check_unbound();
    delete from tool_rag.synonym y
    where (remove_synonym.words is null or y.words = remove_synonym.words)
        and y.term is not distinct from remove_synonym.term
        and (
            remove_synonym.tool is null and y.tool_id is null
            or y.tool_id = tool_rag._tool_id(remove_synonym.server, remove_synonym.tool)
        );
    get diagnostics v_count = row_count;
    return v_count > 0;
end
$$;
comment on function tool_rag.remove_synonym(text, text, text, text) is
'Removes a synonym of a tool or a term (words null: all of them); false where there was none.';

create or replace function tool_rag.add_example(
    server text, tool text, request text, origin text default 'human'
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count int;
begin
    perform tool_rag._check_unbound();
    if coalesce(add_example.request, '') !~ '[^[:space:]]' or length(add_example.request) > 2000
    then
        raise exception 'the request has % characters instead of 1 to 2000',
            coalesce(length(add_example.request), 0)
            using errcode = 'invalid_parameter_value',
            hint = 'Write a request as people send it.';
    elsif coalesce(add_example.origin, '') not in ('human', 'generated', 'feedback') then
        raise exception 'origin is % instead of human, generated or feedback',
            coalesce(quote_literal(add_example.origin), 'null')
            using errcode = 'invalid_parameter_value',
            hint = 'It says who wrote the request.';
    end if;
    insert into tool_rag.example (tool_id, request, origin)
    values (
        tool_rag._find_tool(add_example.server, add_example.tool), add_example.request,
        add_example.origin
    )
    on conflict on constraint example_key do nothing;
    get diagnostics v_count = row_count;
    return v_count = 1;
end
$$;
comment on function tool_rag.add_example(text, text, text, text) is
'A request that a tool serves; true where it is new.';

create or replace function tool_rag.remove_example(
    server text, tool text, request text, origin text default null
) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count int;
begin
    perform tool_rag._check_unbound();
    if remove_example.origin not in ('human', 'generated', 'feedback') then
        raise exception 'origin is % instead of human, generated or feedback',
            quote_literal(remove_example.origin)
            using errcode = 'invalid_parameter_value',
            hint = 'Leave it out to remove requests whoever wrote them.';
    end if;
    delete from tool_rag.example e
    using tool_rag.tool t
    join tool_rag.server s on s.server_id = t.server_id
    where e.tool_id = t.tool_id and s.name = remove_example.server
        and t.name = remove_example.tool
        and (remove_example.request is null or e.request = remove_example.request)
        and (remove_example.origin is null or e.origin = remove_example.origin);
    get diagnostics v_count = row_count;
    return v_count > 0;
end
$$;
comment on function tool_rag.remove_example(text, text, text, text) is
'Removes a request from a tool''s examples (null: all of them), with an origin only where it has '
'that; false where there was none.';
