-- How a request is read before it is ranked: its parts, and what of the conversation it leans on.

create or replace function tool_rag._split_request(p_text text) returns text[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
    -- Longer texts and longer lists are documents, not requests for several tools.
    v_longest constant int := 2000;
    v_most constant int := 8;
    -- Code, quotations, addresses and brackets are never cut, and neither is "also known as".
    v_held constant text :=
        '```([^`]|`{1,2}(?!`))*```|`[^`]*`|"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|‘[^’]*’|「[^」]*」'
        || '|(?<!\w)''([^''\n]|''(?=\w))*''(?!\w)|<[^<>]+>|&\w+;'
        || '|(\w+://|www\.|mailto:)[^[:space:]]*[^[:space:];,.]'
        || '|\[[^][]*\]|\{[^{}]*\}|\((?!\d{1,2}\))[^()]*\)'
        || '|\m(and )?also (known|called|named)\M';
    v_joint constant text :=
        '(and then|and also|as well as|additionally|in addition|also|plus(?!\s*[-+$€£\d])'
        || '|furthermore|moreover|and after that|after that|afterwards|then)\M,?\s+';
    -- Where a new request begins. A plain "and" joins what is often one: "salt and pepper".
    v_marks text :=
        '(\s*[;；]\s*|\s*\n+\s*([-*•]\s+|\(?\d+[.)]\s+)?)(' || v_joint || ')?'
        || '|[,.!?]\s*' || v_joint
        || '|\s' || replace(v_joint, '|then)', ')');
    v_worded constant text := '[^\W\d_]\w*\W+([^\W\d_]|\x01)|[^\x01-\x7f]{3}';
    -- What is held is replaced by this character while the text is cut.
    v_text constant text := translate(p_text, E'\x01', ' ');
    v_quotes text[];
    v_parts text[] := '{}';
    v_part text;
    v_piece text;
    v_next int := 1;
begin
    if length(p_text) > v_longest
        or p_text !~* '[;；\n]|\d[.)]|also|as well|addition|plus|more|after|then'
    then
        return array[p_text];
    end if;
    -- A number begins an item within a line only where another item does: "May 3. Then call".
    if p_text ~ '(^|[:;.!?\n]\s*)\(?1[.)]\s' and p_text ~ '\s\(?2[.)]\s' then
        v_marks := '(^|\s+)\(?\d{1,2}[.)]\s+(?=[^\W\d])|' || v_marks;
    end if;
    v_quotes := array(select m[1] from regexp_matches(v_text, '(' || v_held || ')', 'gi') m);
    foreach v_piece in array regexp_split_to_array(
        regexp_replace(v_text, v_held, E'\x01', 'gi'), v_marks, 'i'
    ) loop
        v_piece := regexp_replace(btrim(v_piece, E' \t\r\n.,'), '^[-*•]\s+', '');
        continue when v_piece = '';
        -- What has no two words, or only names a value, belongs to the request beside it.
        if v_parts = '{}' or (
            v_piece ~ v_worded and v_piece !~ '^[\w ]{1,30}:' and v_parts[1] ~ v_worded
        ) then
            v_parts := v_parts || v_piece;
        else
            v_parts[cardinality(v_parts)] := v_parts[cardinality(v_parts)] || ' ' || v_piece;
        end if;
    end loop;
    if cardinality(v_parts) not between 2 and v_most then
        return array[p_text];
    end if;
    for i in 1 .. cardinality(v_parts) loop
        v_part := v_parts[i];
        while strpos(v_part, E'\x01') > 0 loop
            v_part := overlay(v_part placing v_quotes[v_next] from strpos(v_part, E'\x01') for 1);
            v_next := v_next + 1;
        end loop;
        v_parts[i] := v_part;
    end loop;
    return v_parts;
end
$$;
comment on function tool_rag._split_request(text) is
'The requests that a text makes: cut at semicolons, lines, numbered items and words such as "also", '
'"as well as" and "and then", never inside quotations, code, addresses or brackets; one where it '
'makes one.';

create or replace function tool_rag._plan_request(
    p_query text, p_context text[], p_options jsonb, out texts text[], out kinds text[]
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    -- So many earlier messages count, and of a long one its beginning.
    v_messages constant int := 4;
    v_length constant int := 2000;
    v_parts text[];
    v_left int := v_messages;
begin
    texts := array[p_query];
    kinds := '{whole}';
    if coalesce((p_options -> 'split')::boolean, true) then
        v_parts := tool_rag._split_request(p_query);
        if cardinality(v_parts) > 1 then
            texts := texts || v_parts;
            kinds := kinds || array_fill('part'::text, array[cardinality(v_parts)]);
        end if;
    end if;
    if coalesce((p_options ->> 'context_weight')::float8, 1) > 0 then
        for i in reverse coalesce(cardinality(p_context), 0) .. 1 loop
            exit when v_left = 0;
            continue when coalesce(p_context[i], '') !~ '[^[:space:]]';
            texts := texts || left(p_context[i], v_length);
            kinds := kinds || 'context'::text;
            v_left := v_left - 1;
        end loop;
    end if;
end
$$;
comment on function tool_rag._plan_request(text, text[], jsonb) is
'What a search ranks: the whole request, its parts where it has several, and the last earlier '
'messages, the latest first; each with its kind (whole, part or context).';
