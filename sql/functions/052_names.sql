-- Names: which tool a misspelt name means, told from narrow rows of tool_name.

create or replace function tool_rag._fold_name(p_name text) returns text
language sql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
    -- What is neither letter nor digit in ASCII, spaces and general punctuation beyond it.
    select coalesce(
        nullif(
            regexp_replace(
                tool_rag._lower(tool_rag._fold_marks(p_name)),
                '[\u0001-/:-@\[-`{-\u007f\u00a0\u2000-\u206f\u3000\ufeff]+', '', 'g'
            ),
            ''
        ),
        p_name
    )
$$;
comment on function tool_rag._fold_name(text) is
'A name without case, accents and separators: createPullRequest, create-pull-request -> '
'createpullrequest. One that has nothing else stays as it is.';

create or replace function tool_rag._name_words(p_name text) returns text[]
language sql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
    select array_remove(
        regexp_split_to_array(
            tool_rag._lower(tool_rag._fold_marks(
                tool_rag._identifier_words(replace(p_name, 'IDs', 'Ids'))
            )),
            '[\u0001-/:-@\[-`{-\u007f\u00a0\u2000-\u206f\u3000\ufeff]+'
        ),
        ''
    )
$$;
comment on function tool_rag._name_words(text) is 'The words of a name, folded as _fold_name does.';

create or replace function tool_rag._name_signature(p_folded text) returns bit(256)
language sql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
as $$
    select bit_or(set_bit(
        repeat('0', 256)::bit(256),
        (31 * ascii(substr(t.padded, i, 1)) + ascii(substr(t.padded, i + 1, 1))) % 256,
        1
    ))
    from (select ' ' || p_folded || ' ' as padded) t
    cross join generate_series(1, length(t.padded) - 1) i
$$;
comment on function tool_rag._name_signature(text) is
'The pairs of neighbouring characters of a folded name, its ends included, as bits. What two '
'names have in common is then a count of bits.';

create or replace function tool_rag._index_names(p_tool_ids int[]) returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    insert into tool_rag.tool_name as n (tool_id, folded, signature)
    select f.tool_id, f.folded, tool_rag._name_signature(f.folded)
    from (
        select t.tool_id, tool_rag._fold_name(t.name) as folded
        from unnest(p_tool_ids) id
        join tool_rag.tool t on t.tool_id = id
        offset 0
    ) f
    on conflict on constraint tool_name_pkey do update
    set folded = excluded.folded, signature = excluded.signature
    where (n.folded, n.signature) <> (excluded.folded, excluded.signature)
$$;
comment on function tool_rag._index_names(int[]) is 'Folds the names of tools anew.';

create or replace function tool_rag._similarities(p_text text, p_others text[]) returns float8[]
language plpgsql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Two less than a bigint has: the sum of two words and a carry fits.
    v_bits constant int := 62;
    v_ones constant bigint := (1::bigint << v_bits) - 1;
    v_length constant int := length(p_text);
    v_words constant int := (v_length + v_bits - 1) / v_bits;
    v_alphabet text := '';
    v_positions bigint[] := '{}';
    v_row bigint[];
    v_word bigint;
    v_matches bigint;
    v_sum bigint;
    v_place int;
    v_left int;
    v_character text;
    v_other text;
    v_result float8[] := '{}';
begin
    -- Where each character stands, as bits of v_words words a character.
    for v_index in 0 .. v_length - 1 loop
        v_character := substr(p_text, v_index + 1, 1);
        v_place := strpos(v_alphabet, v_character);
        if v_place = 0 then
            v_alphabet := v_alphabet || v_character;
            v_place := length(v_alphabet);
            v_positions := v_positions || array_fill(0::bigint, array[v_words]);
        end if;
        v_place := (v_place - 1) * v_words + 1 + v_index / v_bits;
        v_positions[v_place] := v_positions[v_place] | (1::bigint << v_index % v_bits);
    end loop;

    -- Each zero that is left is one character of the longest common subsequence: Hyyro 2004,
    -- "Bit-parallel LCS-length computation revisited".
    foreach v_other in array p_others loop
        v_left := 0;
        if v_words = 1 then
            v_word := v_ones;
            foreach v_character in array string_to_array(v_other, null) loop
                v_place := strpos(v_alphabet, v_character);
                if v_place > 0 then
                    v_matches := v_word & v_positions[v_place];
                    v_word := ((v_word + v_matches) | (v_word - v_matches)) & v_ones;
                end if;
            end loop;
            v_left := bit_count(v_word::bit(64));
        else
            v_row := array_fill(v_ones, array[v_words]);
            foreach v_character in array string_to_array(v_other, null) loop
                v_place := (strpos(v_alphabet, v_character) - 1) * v_words;
                continue when v_place < 0;
                v_sum := 0;
                for v_index in 1 .. v_words loop
                    v_word := v_row[v_index];
                    v_matches := v_word & v_positions[v_place + v_index];
                    v_sum := v_word + v_matches + (v_sum >> v_bits);
                    v_row[v_index] := (v_sum | (v_word - v_matches)) & v_ones;
                end loop;
            end loop;
            foreach v_word in array v_row loop
                v_left := v_left + bit_count(v_word::bit(64));
            end loop;
        end if;
        v_result := v_result
            || 2.0::float8 * (v_words * v_bits - v_left) / (v_length + length(v_other));
    end loop;
    return v_result;
end
$$;
comment on function tool_rag._similarities(text, text[]) is
'How similar a text is to others, 0 to 1: twice the length of the longest common subsequence by '
'the sum of both lengths (what edits by insertion and deletion leave).';

create or replace function tool_rag._visible_names(
    p_folded text[], p_role_ids int[], p_server_ids int[], p_gate int[]
) returns int[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
declare
    -- Of a caller who sees at most so many tools just these are read, whatever the name: a hidden
    -- tool and one that does not exist then take the same steps.
    v_few constant int := 3000;
    v_tool_ids int[];
begin
    if p_gate is not null then
        v_tool_ids := p_gate;
    else
        v_tool_ids := array(
            select r.tool_id
            from tool_rag.role_tool r
            where r.role_id = any(p_role_ids)
                and r.allow_until > statement_timestamp()
                and r.deny_until <= statement_timestamp()
                and (p_server_ids is null or r.server_id = any(p_server_ids))
            limit v_few + 1
        );
        if cardinality(p_role_ids) > 1 and cardinality(v_tool_ids) <= v_few then
            v_tool_ids := array(
                select p.tool_id from tool_rag._permitted(p_role_ids, p_server_ids) p
            );
        end if;
    end if;
    if cardinality(v_tool_ids) <= v_few then
        return array(
            select n.tool_id
            from unnest(v_tool_ids) v (tool_id)
            cross join lateral (
                select f.tool_id, f.folded
                from tool_rag.tool_name f
                where f.tool_id = v.tool_id
                offset 0
            ) n
            where n.folded = any(p_folded)
        );
    end if;
    return array(
        select n.tool_id
        from tool_rag.tool_name n
        where n.folded = any(p_folded)
            and tool_rag._is_visible(n.tool_id, p_role_ids, p_server_ids, p_gate)
    );
end
$$;
comment on function tool_rag._visible_names(text[], int[], int[], int[]) is
'The tools with any of some folded names that a caller (see _caller) may see.';

create or replace function tool_rag._near_names(
    p_folded text, p_role_ids int[], p_server_ids int[], p_gate int[]
) returns table (tool_id int, similarity float8)
language plpgsql stable parallel safe rows 100
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_custom_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    -- Of a caller who sees at most so many tools just these are read.
    v_few constant int := 3000;
    -- So many, and those as good as the last of them, are compared exactly.
    v_compared constant int := 100;
    v_signature constant bit(256) := tool_rag._name_signature(p_folded);
    v_pairs constant int := bit_count(v_signature);
    -- A short name loses most of its pairs by one typing error.
    v_share constant float8 := case when length(p_folded) > 6 then 0.35 else 0.2 end;
    v_tool_ids int[];
    v_names text[];
    v_ids int[];
    v_places int[];
begin
    if p_gate is not null then
        v_tool_ids := p_gate;
    elsif p_role_ids is not null then
        v_tool_ids := array(
            select r.tool_id
            from tool_rag.role_tool r
            where r.role_id = any(p_role_ids)
                and r.allow_until > statement_timestamp()
                and r.deny_until <= statement_timestamp()
                and (p_server_ids is null or r.server_id = any(p_server_ids))
            limit v_few + 1
        );
        v_tool_ids := case
            when cardinality(v_tool_ids) <= v_few then array(
                select p.tool_id from tool_rag._permitted(p_role_ids, p_server_ids) p
            )
        end;
    end if;

    with named as materialized (
        select n.tool_id, n.folded,
            bit_count(n.signature & v_signature)::float8 / (bit_count(n.signature) + v_pairs)
                as share
        from tool_rag.tool_name n
        where (v_tool_ids is null or n.tool_id = any(v_tool_ids))
            and 2 * bit_count(n.signature & v_signature)
                >= v_share * (bit_count(n.signature) + v_pairs)
    ),
    -- With ties: which ones are compared depends on no number or order of the catalogue.
    compared as (
        select n.tool_id, n.folded
        from named n
        where p_role_ids is null or v_tool_ids is not null
            or (
                select max(r.allow_until) > statement_timestamp()
                    and max(r.deny_until) <= statement_timestamp()
                from tool_rag.role_tool r
                where r.tool_id = n.tool_id and r.role_id = any(p_role_ids)
                    and (p_server_ids is null or r.server_id = any(p_server_ids))
            )
        order by n.share desc
        fetch first v_compared rows with ties
    )
    select array_agg(c.tool_id), array_agg(c.place), array_agg(distinct c.folded)
    into v_ids, v_places, v_names
    from (
        select tool_id, folded, dense_rank() over (order by folded) as place from compared
    ) c;

    return query
    select u.tool_id, s.similarities[u.place]
    from (select tool_rag._similarities(p_folded, v_names) as similarities offset 0) s
    cross join unnest(v_ids, v_places) u (tool_id, place);
end
$$;
comment on function tool_rag._near_names(text, int[], int[], int[]) is
'Tools with a name that may be like a folded one, and how similar it is, among those that roles '
'may see (null: all tools, for admins) of some servers (null: all), or in a gate (see _caller). '
'Those that share most pairs of characters are compared exactly.';

create or replace function tool_rag._surplus_words(p_words text[], p_others text[]) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(w.word order by w.place), '{}')
    from (
        select u.word, u.place, row_number() over (partition by u.word order by u.place) as number
        from unnest(p_words) with ordinality u (word, place)
    ) w
    where w.number > (select count(*) from unnest(p_others) o where o = w.word)
$$;
comment on function tool_rag._surplus_words(text[], text[]) is
'The words that stand in one list more often than in another, in order.';

create or replace function tool_rag._is_respelling(p_name text, p_tool text, p_server text)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_all_written text[] := tool_rag._name_words(p_name);
    v_all_meant text[] := tool_rag._name_words(p_tool);
    v_written text[] := tool_rag._surplus_words(v_all_written, v_all_meant);
    v_meant text[] := tool_rag._surplus_words(v_all_meant, v_all_written);
begin
    if tool_rag._fold_name(p_name) = tool_rag._fold_name(p_tool) then
        return true;
    elsif v_meant = '{}' then
        -- The same words in another order or number, or more of them: at most the server's name.
        return v_written <> '{}' and v_written = tool_rag._name_words(p_server);
    elsif v_written = '{}' then
        -- A word is missing, and "all" may be that word.
        return false;
    elsif cardinality(v_written) <> cardinality(v_meant) then
        v_written := array[array_to_string(v_written, '')];
        v_meant := array[array_to_string(v_meant, '')];
    end if;
    return (
        select bool_and(
            left(w.written, 1) = left(w.meant, 1)
            and regexp_replace(w.written, '[^0-9]', '', 'g')
                = regexp_replace(w.meant, '[^0-9]', '', 'g')
            and (tool_rag._similarities(w.written, array[w.meant]))[1] >= 0.7
            -- A word of its own is not misspelt, but for its ending: change is no charge.
            and (
                ts_lexize('pg_catalog.english_stem', w.written)
                    = ts_lexize('pg_catalog.english_stem', w.meant)
                or not exists (
                    select from tool_rag.word_piece k where k.piece = w.written
                )
            )
        )
        from unnest(v_written, v_meant) w (written, meant)
    );
end
$$;
comment on function tool_rag._is_respelling(text, text, text) is
'Whether a name may be meant for a tool''s: the words that differ are the same but for their '
'spelling, begin with the same letter and have the same digits, and what was written is no word '
'itself. So get is no misspelt set, change no charge, v1 no v2.';

create or replace function tool_rag._resolve_tool(
    p_name text, p_roles text[], p_servers text[], p_allowed jsonb
) returns table (outcome text, server text, name text, similarity real)
language plpgsql stable parallel safe rows 3
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    -- From the first on a name is corrected, from the second on it is a hint; of names within the
    -- third of the best none is chosen.
    v_correct constant float8 := 0.82;
    v_hint constant float8 := 0.6;
    v_margin constant float8 := 0.05;
    v_server_ids int[];
    v_caller record;
    v_slash int := strpos(p_name, '/');
    -- The name as SERVER/TOOL, where it can be read so.
    v_server text;
    v_tool text;
    v_folded_name text;
    v_folded_server text;
    v_folded_tool text;
begin
    if coalesce(p_name, '') !~ '[^[:space:]]' or length(p_name) > 512 then
        raise exception 'the name has % characters instead of 1 to 512',
            coalesce(length(btrim(p_name)), 0)
            using errcode = 'invalid_parameter_value',
            hint = 'Pass the name that was called, as TOOL or SERVER/TOOL.';
    end if;
    if v_slash between 2 and length(p_name) - 1 then
        v_server := left(p_name, v_slash - 1);
        v_tool := substr(p_name, v_slash + 1);
    end if;
    v_folded_name := tool_rag._fold_name(p_name);
    v_folded_server := tool_rag._fold_name(v_server);
    v_folded_tool := tool_rag._fold_name(v_tool);
    v_server_ids := tool_rag._server_ids(p_servers);
    v_caller := tool_rag._caller(p_roles, p_allowed, v_server_ids);

    -- The very name first, then the same one but for case and separators.
    return query
    with same as materialized (
        select s.name as server, t.name, t.name = p_name
            or (s.name = v_server and t.name = v_tool) is true as is_exact
        from unnest(tool_rag._visible_names(
            array[v_folded_name, v_folded_tool], v_caller.role_ids, v_server_ids, v_caller.gate
        )) v (tool_id)
        join tool_rag.tool_name n on n.tool_id = v.tool_id
        join tool_rag.tool t on t.tool_id = n.tool_id
        join tool_rag.server s on s.server_id = t.server_id
        -- A tool's own name may hold a "/".
        where n.folded = v_folded_name and (v_server is null or strpos(t.name, '/') > 0)
            or n.folded = v_folded_tool and tool_rag._fold_name(s.name) = v_folded_server
    ),
    best as (
        select s.*, count(*) over () as count
        from same s
        where s.is_exact or not exists (select from same e where e.is_exact)
    )
    select
        case when b.count > 1 then 'hint' when b.is_exact then 'exact' else 'corrected' end,
        b.server, b.name, 1::real
    from best b
    order by b.server collate "C", b.name collate "C"
    limit 3;
    if found then
        return;
    end if;

    return query
    with reading as materialized (
        select n.tool_id, n.similarity, true as is_whole
        from tool_rag._near_names(
            v_folded_name, v_caller.role_ids, v_server_ids, v_caller.gate
        ) n
        where n.similarity >= v_hint
        union all
        select n.tool_id, n.similarity, false
        from tool_rag._near_names(
            v_folded_tool, v_caller.role_ids, v_server_ids, v_caller.gate
        ) n
        where n.similarity >= v_hint and v_tool is not null
    ),
    found as materialized (
        select r.*, t.name, s.server_id, s.name as server
        from reading r
        join tool_rag.tool t on t.tool_id = r.tool_id
        join tool_rag.server s on s.server_id = t.server_id
        where not r.is_whole or v_server is null or strpos(t.name, '/') > 0
    ),
    named as materialized (
        select f.server_id, (
            tool_rag._similarities(v_folded_server, array[tool_rag._fold_name(f.server)])
        )[1] as similarity
        from (select distinct server_id, server from found where not is_whole) f
    ),
    scored as materialized (
        select distinct on (f.tool_id)
            f.server, f.name, f.similarity as alike, v.server_alike, v.similarity,
            case when f.is_whole then p_name else v_tool end as written
        from found f
        left join named n on n.server_id = f.server_id and not f.is_whole
        cross join lateral (
            select coalesce(n.similarity, 1) as server_alike,
                0.75 * f.similarity + 0.25 * coalesce(n.similarity, f.similarity) as similarity
        ) v
        order by f.tool_id, v.similarity desc, f.is_whole
    ),
    judged as materialized (
        select s.*,
            least(s.alike, s.server_alike) >= v_correct
            and tool_rag._is_respelling(s.written, s.name, s.server) as is_correction,
            row_number() over (
                order by s.similarity desc, s.server collate "C", s.name collate "C"
            ) as place
        from scored s
        where s.similarity >= v_hint
    ),
    decided as (
        select b.is_correction and not exists (
            select
            from judged o
            where o.place > 1 and o.is_correction and o.similarity > b.similarity - v_margin
                -- A server that was named beats those that are only called alike.
                and (o.server_alike = 1 or b.server_alike < 1)
        ) as is_clear
        from judged b
        where b.place = 1
    )
    select case when d.is_clear then 'corrected' else 'hint' end, j.server, j.name,
        j.similarity::real
    from judged j
    cross join decided d
    where j.place <= case when d.is_clear then 1 else 3 end
    order by j.place;
end
$$;
comment on function tool_rag._resolve_tool(text, text[], text[], jsonb) is
'What resolve_tool returns: in PL/pgSQL no column may be named like an argument.';

create or replace function tool_rag.resolve_tool(
    name text, roles text[] default null, servers text[] default null,
    allowed jsonb default null
) returns table (outcome text, server text, name text, similarity real)
language sql stable parallel safe rows 3 security definer
set search_path = pg_catalog, pg_temp
as $$
    select r.outcome, r.server, r.name, r.similarity
    from tool_rag._resolve_tool(
        resolve_tool.name, resolve_tool.roles, resolve_tool.servers, resolve_tool.allowed
    ) with ordinality r (outcome, server, name, similarity, place)
    order by r.place
$$;
comment on function tool_rag.resolve_tool(text, text[], text[], jsonb) is
'Which permitted tool a name means, written as TOOL or SERVER/TOOL: one row "exact" or "corrected" '
'(the same but for case and separators, or misspelt beyond doubt), up to three rows "hint" where '
'more than one may be meant or none is near enough, no row where none is alike. roles and '
'allowed say who asks, as in search_tools; servers: only of servers that fit these patterns.';
