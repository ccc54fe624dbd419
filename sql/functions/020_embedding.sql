-- The built-in embedding: the unit mean of a text's word-piece vectors, computed here.

create or replace function tool_rag._word_pieces(p_word text) returns text[]
language plpgsql stable parallel safe strict
set search_path = pg_catalog, pg_temp
-- Its plan stays for the session: one made while tools were indexed must serve requests too.
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
declare
    v_position int := 1;
    v_length int := length(p_word);
    v_prefix text := '';
    v_piece text;
    v_pieces text[] := '{}';
begin
    -- Longer words are unknown, as in the reference; the longest piece has 24 characters.
    if v_length > 100 then
        return '{}';
    end if;
    while v_position <= v_length loop
        select w.piece into v_piece
        from generate_series(least(v_length - v_position + 1, 24), 1, -1) n
        join tool_rag.word_piece w on w.piece = v_prefix || substr(p_word, v_position, n)
        order by n desc
        limit 1;
        -- One unknown part makes the whole word unknown.
        if v_piece is null then
            return '{}';
        end if;
        v_pieces := v_pieces || v_piece;
        v_position := v_position + length(v_piece) - length(v_prefix);
        v_prefix := '##';
    end loop;
    return v_pieces;
end
$$;
comment on function tool_rag._word_pieces(text) is
'Greedy longest-match word pieces of one word (Wu et al. 2016); empty when any part is unknown.';

create or replace function tool_rag.embed(text text) returns @extschema:vector@.halfvec
language plpgsql stable parallel safe strict security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
begin
    -- A request needs no more words than this, and a text of any length costs no more.
    return (
        with word as materialized (
            select w.word, p.embedding
            from (select word from tool_rag._words(left(embed.text, 10000)) word limit 1000) w
            left join tool_rag.word_piece p on p.piece = w.word
        ),
        piece as (
            select embedding from word where embedding is not null
            union all
            select p.embedding
            from word
            cross join unnest(tool_rag._word_pieces(word.word)) u (piece)
            join tool_rag.word_piece p on p.piece = u.piece
            where word.embedding is null
        )
        select @extschema:vector@.l2_normalize(
            @extschema:vector@.avg(embedding::@extschema:vector@.vector)
        )::@extschema:vector@.halfvec
        from piece
    );
end
$$;
comment on function tool_rag.embed(text) is
'The built-in model''s vector of a text, of length 1; null when no word piece of it is known.';
