-- The linter: text that addresses the model, hidden characters, names that are taken for others.
--
-- It reads, and says what it found; what becomes of it the policy of the server decides
-- (045_review.sql). docs/review.md lists the rules, and how often each is wrong on honest tools.

create or replace function tool_rag._plain_letters(p_text text) returns text
language sql immutable parallel safe
return translate(
    normalize(p_text, nfkc),
    'авгеснкмортухіјѕԁһӏԛԝпѡьѵґєѐиэαβγεηικμνορστυχωϲϳϱϰոօսհցյղզաıɩɪȷɡɢɑʟʀƒɴɓɗɦŧłøđħᴀʙᴄᴅᴇʜ'
        'ᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡʏᴢɛʋʃꞁǀABCDEFGHIJKLMNOPQRSTUVWXYZ',
    'abrechkmoptyxijsdhlqwnwbvreeueabyenikuvopotuxwcjpknouhgjnqwiiijggalrfnbdhtlodhabcdeh'
        'jkmopstuvwyzeufllabcdefghijklmnopqrstuvwxyz'
);
comment on function tool_rag._plain_letters(text) is
'Text in NFKC with letters that look like those of ASCII made these, and ASCII in lower case.';

create or replace function tool_rag._skeleton(p_folded text) returns text
language sql immutable parallel safe
return replace(
    replace(translate(tool_rag._plain_letters(p_folded), '01i', 'oll'), 'rn', 'm'), 'vv', 'w'
);
comment on function tool_rag._skeleton(text) is
'A folded name with what looks alike made the same, as tool_name.skeleton has it.';

create or replace function tool_rag._show_characters(p_text text, p_class text) returns text
language plpgsql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
as $$
declare
    v_text text := p_text;
    v_character text;
begin
    for v_character in
        select distinct m[1] from regexp_matches(p_text, '(' || p_class || ')', 'g') m
    loop
        v_text := replace(
            v_text, v_character, format('<U+%s>', lpad(upper(to_hex(ascii(v_character))), 4, '0'))
        );
    end loop;
    return v_text;
end
$$;
comment on function tool_rag._show_characters(text, text) is
'Text with the characters of a class as their numbers: <U+202E>.';

create or replace function tool_rag._show_hidden(p_text text) returns text
language sql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
    select tool_rag._show_characters(
        p_text,
        '[\u0001-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5'
        '\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufe00-\ufe0f'
        '\ufeff\uffa0\ufff0-\uffff\U0001d173-\U0001d17a\U000e0000-\U0010ffff]'
    )
$$;
comment on function tool_rag._show_hidden(text) is
'Text whose hidden characters, and all that steer a terminal, can be read.';

create or replace function tool_rag._lint_rules()
returns table (rule text, severity text, on_characters boolean, hint text, pattern text)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
    -- Patterns on characters see the text as it is, but only where it is more than printable ASCII;
    -- the others see it in lower case with look-alike letters made plain. Gaps stay within a
    -- sentence. A hint is cheap, and what does not match it is not compared with the pattern.
    values
    -- Bidi embeddings, overrides and isolates; tags, but for the flags of England, Scotland and
    -- Wales; letters that are blank; invisible operators; escape sequences of terminals.
    ('hidden_characters', 'high', true,
        null,
        '[\u202a-\u202e\u2066-\u2069\u115f\u1160\u3164\uffa0\u2061-\u2065\u206a-\u206f'
        '\ufff0-\ufffb\u001b]'
        '|(?<!\U0001f3f4[\U000e0061-\U000e007a]{0,5})[\U000e0000-\U000e007f]'),
    -- Within a word, or several in a row, which is how bytes are smuggled.
    ('hidden_characters', 'high', true,
        null,
        '[A-Za-z0-9][\u180e\u200b-\u200d\u2060\ufeff]+[A-Za-z0-9]'
        '|[\u180e\u200b\u2060\ufeff][\u180e\u200b-\u200f\u2060\ufeff]'
        '|[\u200c\u200d][\u180e\u200b-\u200d\u2060\ufeff]'
        '|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}'),
    ('hidden_characters', 'medium', true,
        null,
        -- Breaks of lines in scripts without spaces, and joiners of scripts and emoji, are honest.
        '(^|[\u0001-\u0dff\u2000-\u200f])[\u200b\u2060\u180e]|[\ufeff\u034f]'
        '|(^|[\u0001-\u058f\u2000-\u200f])[\u200c\u200d]'
        '|(^|[\u0001-\u0022\u0024-\u0029\u002b-\u002f\u003a-\u2000])[\ufe00-\ufe0f]'
        '|(^|[\u0001-\u2e7f])[\U000e0100-\U000e01ef]'
        '|[\u0001-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f-\u0084\u0086-\u009f]'),
    ('hidden_characters', 'low', true,
        null,
        '[\u00ad\ue000-\uf8ff\U000f0000-\U0010ffff]'),
    -- Out of the view of whoever reads it.
    ('hidden_by_space', 'medium', true,
        null,
        '[ \t]{200}|\n([ \t\r]*\n){30}'),

    ('overrides_instructions', 'high', false,
        'ignore|disregard|forget|overr|bypass|discard|you are',
        '\m(ignore|disregard|forget|override|overrule|bypass|discard)\M[^.!?\n]*'
        '\m(all|any|every|your|previous|prior|earlier|preceding|above|foregoing|existing|system'
        '|safety)\M'
        '[^.!?\n]{0,40}\m(instructions?|prompts?|directives?|guidelines?|guardrails?)\M'
        '|\m(ignore|disregard|forget|override|bypass)\M[^.!?\n]{0,20}\m(previous|prior|your'
        '|safety)\M'
        '[^.!?\n]{0,20}\m(rules|restrictions|constraints|policies|messages|training)\M'
        '|\myou are (now|no longer)\M[^.!?\n]{0,60}\m(mode|unrestricted|jailbroken|bound|dan)\M'),
    ('hides_from_user', 'high', false,
        'user|human|operator',
        '\m(do not|don.t|dont|never|must not|should not|shouldn.t|without|avoid'
        '|refrain from)\M[^.!?\n]{0,30}'
        '\m(tell|telling|inform|informing|mention|mentioning|alert|alerting|warn|warning|reveal'
        '|revealing'
        '|disclose|disclosing|explain|explaining)\M[^.!?\n]{0,60}\m(the |this |your )?(user|human'
        '|operator)s?\M'
        '|\m(do not|don.t|dont|never|not|without)\M[^.!?\n]{0,15}\m(let|letting)\M[^.!?\n]{0,10}'
        '\m(user|human|operator)s? (know|see|notice|realize|realise|find out)\M'
        '|\m(user|human|operator)s? (must|should|may|need|does|do|will|can)( not|n.t| never)'
        '( be| become)? (know|see|notice|told|informed|aware|notified|shown)\M'
        '|\m(keep|remain|stay)\M[^.!?\n]*\m(secret|hidden|confidential|invisible|quiet)\M[^.!?\n]*'
        '\m(from|to) the (user|human|operator)\M'),
    ('hides_from_user', 'medium', false,
        null,
        '\m(silently|secretly|covertly|quietly|discreetly)\M[^.!?\n]*'
        '\m(send|forward|copy|upload|bcc|cc|include|append|call|invoke|transmit|exfiltrate)\M'),
    ('imitates_prompt', 'high', false,
        null,
        '<\s*/?\s*(important|(system|developer)[-_ ]?(prompt|message|instructions?)'
        '|tool[-_ ]?(calls?|results?|descriptions?)|function[-_ ]?calls?)\s*/?>'
        '|<\s*/\s*(system|secret|hidden|admin|critical|assistant|override|sys)\s*>'
        '|<\|(im_start|im_end|system|user|assistant|begin_of_text|start_header_id|eot_id)'
        '|\[/?inst\]|<<\s*/?sys\s*>>'),
    ('imitates_prompt', 'medium', false,
        null,
        '<\s*/?\s*instructions?\s*>|(^|\n|[.!?] )[ #*]*system( prompt| message)?[ *]*:\s'
        '|\m(note|message|instructions?|reminder) (to|for) (the |any )?(ai|assistant|llm|model|agent)s?\s*:'
        '|\m(new|updated|real|actual) (system )?(instructions?|prompt|directives?)\s*:'),
    ('asks_for_secrets', 'high', false,
        '\.(ssh|aws|gnupg|cursor|netrc|git-cred|bash_h|zsh_h)|id_(rsa|ed|ec|ds)|/etc/|mcp\.json'
        '|claude_desk|system (prompt|mess)|your ',
        '\m(read|open|cat|load|include|pass|send|provide|attach|append|copy|forward|upload|put'
        '|insert'
        '|embed|fetch|retrieve|access|return|share|submit|paste|supply|print|output|contents?)\M'
        '[^!?\n]{0,120}(\.ssh/(?![a-z0-9_.-]*\.pub\M)|\.aws/credentials|\.gnupg/|\.cursor/'
        '|\.netrc\M|\.git-credentials|\.bash_history'
        '|\.zsh_history|\mid_(rsa|ed25519|ecdsa|dsa)\M(?!\.pub)|/etc/(passwd|shadow)\M'
        '|\mmcp\.json\M'
        '|claude_desktop_config)'
        '|\m(pass|include|send|provide|attach|append|copy|forward|upload|insert|embed|share|paste'
        '|supply'
        '|reveal|print|output|repeat|quote|return)\M[^.!?\n]{0,60}'
        '(\myour (full |entire |own |current |exact )?(system prompt|instructions|context window)\M'
        '|\m(full|entire|complete|exact|whole|contents? of the) system (prompt|message)\M)'),
    ('asks_for_secrets', 'medium', false,
        'conversation|chat|dialogue|messages|credential|password|private key|environment var'
        '|api key|access token',
        '\m(pass|include|send|attach|append|copy|forward|upload|insert|embed|paste)\M[^.!?\n]*'
        '\m(full|entire|whole|complete|all|every|any|verbatim|previous|prior'
        '|contents?)\M[^.!?\n]{0,40}'
        '\m(conversation|chat|dialogue|messages|credentials|passwords|private keys?'
        '|environment variables'
        '|api keys?|access tokens)\M'),
    ('skips_consent', 'medium', false,
        'confirmation|permission|approval|consent',
        '\m(do not|don.t|never|no need to|without)\M[^.!?\n]{0,30}'
        '\m(ask|asking|request|requesting|seek|seeking|wait|waiting|prompt'
        '|prompting)\M[^.!?\n]{0,60}'
        '\m(confirmation|permission|approval|consent)\M'),
    ('changes_other_calls', 'high', false,
        'other|every|all|recipient|destination|number|address|account|iban|wallet',
        '\m(when|whenever|after|before|every time|each time|if)\M[^.!?\n]*'
        '\m(any other|another|other|every|all) (tools?|functions?|servers?)\M[^.!?\n]*'
        '\m(must also|always|silently|first|also (call|send|include|add|pass)|you must)\M'
        '|\m(change|replace|redirect|set|switch|swap|alter)\M[^.!?\n]{0,20}\m(recipient'
        '|destination|phone number'
        '|number|address|account|iban|wallet)s?\M[^.!?\n]{0,15}\m(to|with'
        '|by)\M\s+[^ \n]*[0-9@][^ \n]{5}'),
    ('changes_other_calls', 'medium', false,
        'other|this',
        '\m(before|instead of|rather than|in preference to|over)\M[^.!?\n]*'
        '\m(any|every|all|the)? ?other (tools?|functions?|servers?|mcp)\M'
        '|\m(always|must)\M[^.!?\n]{0,20}\m(use|call|invoke|prefer|choose|select'
        '|run)\M[^.!?\n]{0,10}'
        '\mthis (tool|function|server)\M[^.!?\n]*\m(instead|regardless|no matter|whatever'
        '|even if)\M'),
    ('runs_commands', 'high', false,
        null,
        '\m(curl|wget)\M[^\n]{0,200}\|\s*(sudo )?(ba|z|da)?sh\M|\mrm -rf [/~]|\mbase64 (-d'
        '|--decode)\M[^\n]*\|'),
    ('commands_model', 'low', false,
        null,
        '\myou (must|should|shall|have to|need to) (always|never|first|only)\M|\myou must\M')
$$;
comment on function tool_rag._lint_rules() is
'The rules on texts: what makes a finding, and how grave it is.';

create or replace function tool_rag._tool_texts(p_definition jsonb)
returns table (field text, content text)
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    with recursive node (field, key, value) as (
        select d.key, d.key, d.value
        from jsonb_each(p_definition) d
        where d.key in (
            'name', 'title', 'description', 'input_schema', 'output_schema', 'annotations',
            'synonyms'
        )
        union all
        select n.field || m.suffix, m.key, m.value
        from node n
        cross join lateral (
            select '.' || o.key, o.key, o.value
            from jsonb_each(case jsonb_typeof(n.value) when 'object' then n.value end) o
            union all
            select format('[%s]', a.ordinality - 1), '', a.value
            from jsonb_array_elements(case jsonb_typeof(n.value) when 'array' then n.value end)
                with ordinality a
        ) m (suffix, key, value)
        where jsonb_typeof(n.value) in ('object', 'array')
    )
    select n.field, n.value #>> '{}' from node n where jsonb_typeof(n.value) = 'string'
    union all
    -- A name of a parameter that is more than a name.
    select n.field || ' (name)', n.key from node n where n.key !~ '^[A-Za-z0-9_.$-]{0,64}$'
$$;
comment on function tool_rag._tool_texts(jsonb) is
'Every text of a definition, wherever it stands in the schemas, and where that is.';

create or replace function tool_rag._lint_texts(p_tools jsonb)
returns table (
    name text, rule text, severity text, field text, place int, excerpt text
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set jit = off
as $$
#variable_conflict use_column
declare
    -- So many at a time keep a large export's texts in memory.
    v_chunk constant int := 500;
begin
    for v_start in 0 .. jsonb_array_length(p_tools) - 1 by v_chunk loop
        return query
        with text as materialized (
            select e.ordinality, e.value ->> 'name' as name, t.field, t.content,
                -- A sentence goes on in the next line, where that begins with a letter.
                regexp_replace(case
                    when tool_rag._is_ascii(t.content) then lower(t.content collate "C")
                    else tool_rag._plain_letters(tool_rag._lower(tool_rag._fold_marks(
                        regexp_replace(
                            t.content,
                            '[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff'
                            '\U000e0000-\U000e01ef]',
                            '', 'g'
                        )
                    )))
                end, '\n(?=[ \t]*[a-z`"<])', ' ', 'g') as plain,
                t.content ~ '[^\u000a\u000d\u0020-\u007e]|[ ]{200}|\n\s*\n\s*\n' as is_odd
            from jsonb_array_elements(p_tools) with ordinality e
            cross join lateral tool_rag._tool_texts(e.value) t
            where e.ordinality > v_start and e.ordinality <= v_start + v_chunk
        ),
        -- Pattern by pattern: Postgres keeps only the last few that it compiled.
        found as materialized (
            select t.ordinality, t.name, r.rule, r.severity, t.field, m.text,
                regexp_instr(m.text, r.pattern) as place,
                regexp_instr(m.text, r.pattern, 1, 1, 1) as ends
            from tool_rag._lint_rules() r
            cross join lateral (
                select t.ordinality, t.name, t.field,
                    case when r.on_characters then t.content else t.plain end as text
                from text t
                where case
                    when r.on_characters then t.is_odd
                    else t.plain ~ '[[:space:]<\[]' and (r.hint is null or t.plain ~ r.hint)
                end
                offset 0
            ) t
            cross join lateral (select t.text) m
            where m.text ~ r.pattern
        )
        select f.name, f.rule, f.severity, f.field, f.place,
            tool_rag._show_hidden(
                substr(f.text, greatest(f.place - 20, 1), least(f.ends - f.place, 120) + 40)
            )
        from found f
        order by f.ordinality, f.field collate "C", f.place, f.rule, f.severity;
    end loop;
end
$$;
comment on function tool_rag._lint_texts(jsonb) is
'What the rules on texts find in the tools of an export. A place counts characters from 1, in '
'the text without hidden characters where the rule is on words.';

create or replace function tool_rag._lint_names(p_server text, p_tools jsonb)
returns table (
    name text, rule text, severity text, field text, place int, excerpt text
)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
set jit = off
as $$
    with tool as materialized (
        select e.value ->> 'name' as name, coalesce(e.value ->> 'description', '') as description,
            tool_rag._fold_name(e.value ->> 'name') as folded, e.value as definition
        from jsonb_array_elements(p_tools) e
    ),
    other as materialized (
        select t.name, t.description, t.folded, o.tool_id, o.name as other,
            o.description as other_description, n.folded as other_folded, s.name as other_server
        from tool t
        join tool_rag.tool_name n on n.skeleton = tool_rag._skeleton(t.folded)
        join tool_rag.tool o on o.tool_id = n.tool_id
        join tool_rag.server s on s.server_id = o.server_id
        where s.name is distinct from p_server
    ),
    -- Sentences that say what to do instead of something, or beside it.
    sentence as materialized (
        select t.name, x.field, w.sentence
        from tool t
        cross join lateral tool_rag._tool_texts(t.definition) x
        cross join lateral regexp_split_to_table(x.content, '[.!?]\s+|\n') w (sentence)
        where x.content ~* '\m(instead|rather|place|us(e|ing)|call|invok|replac|supersed|deprecat|obsol'
                '|broken|compromis|insecure)'
            and w.sentence ~* (
                '\m(instead of|rather than|in place of|(do not|don.t|never|stop|avoid) (use|using'
                '|call|calling'
                '|invoke|invoking)|replaces|supersedes|deprecated|obsolete|broken|compromised'
                '|insecure'
                '|(before|after|when|whenever|every time|each time)( you)? (use|using|call'
                '|calling|invoke|invoking)'
                '|(is|are|gets?) (used|called|invoked))\M'
            )
    ),
    reference as (
        select distinct w.name, w.field, w.sentence, m.word
        from sentence w
        cross join lateral (
            select r[1] as word
            from regexp_matches(
                w.sentence,
                '([A-Za-z0-9]+(?:(?:[_./:-]|__)[A-Za-z0-9]+)+|[a-z0-9]+(?:[A-Z][a-z0-9]+)+)', 'g'
            ) r
        ) m
    ),
    meant as (
        select distinct on (r.name, r.field) r.name, r.field, r.word, r.sentence,
            s.name as other_server, o.name as other
        from reference r
        cross join lateral (values
            (tool_rag._fold_name(r.word), null),
            (tool_rag._fold_name(substring(r.word, '[/:.]([^/:.]+)$')),
                tool_rag._fold_name(substring(r.word, '^(.+)[/:.][^/:.]+$'))),
            (tool_rag._fold_name(substring(r.word, '__(.+)$')),
                tool_rag._fold_name(substring(r.word, '^(.+?)__.+$')))
        ) k (folded, server)
        join tool_rag.tool_name n on n.folded = k.folded
        join tool_rag.tool o on o.tool_id = n.tool_id
        join tool_rag.server s on s.server_id = o.server_id
        where s.name is distinct from p_server
            and (k.server is null or k.server = tool_rag._fold_name(s.name))
            -- What stands in its own server too is meant there.
            and not exists (select from tool t where t.folded = k.folded)
            and not exists (
                select
                from tool_rag.tool_name m
                join tool_rag.tool w on w.tool_id = m.tool_id
                join tool_rag.server v on v.server_id = w.server_id
                where m.folded = k.folded and v.name = p_server
            )
        order by r.name, r.field, s.name collate "C", o.name collate "C"
    )
    -- Letters of two scripts in one word.
    select t.name, 'mixed_scripts', 'high', 'name', regexp_instr(t.name, m.pattern),
        tool_rag._show_characters(t.name, '[^\u0020-\u007e]')
    from tool t
    cross join (values (
        '[A-Za-z\u00c0-\u024f][\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u13a0-\u13ff]'
        '|[\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u13a0-\u13ff][A-Za-z\u00c0-\u024f]'
    )) m (pattern)
    where t.name ~ m.pattern
    union all
    -- Another name that looks the same; that of other case or separators is the same name.
    select o.name, 'looks_like_other', 'high', 'name', 1,
        left(format('%s/%s', min(o.other_server), min(o.other)), 200)
    from other o
    where o.folded <> o.other_folded
    group by o.name
    union all
    select c.name, 'copies_other', 'medium', 'description', 1, left(min(c.excerpt), 200)
    from (
        select o.name, format('%s/%s', o.other_server, o.other) as excerpt
        from other o
        where o.folded = o.other_folded and length(o.description) >= 20
            and case
                when o.description = o.other_description then true
                when length(o.other_description) < 20 then false
                else tool_rag.embed(o.description)
                    operator(@extschema:vector@.<=>) tool_rag.embed(o.other_description) < 0.03
            end
    ) c
    group by c.name
    union all
    select m.name, 'steers_other', 'high', m.field, 1,
        left(format('%s/%s: %s', m.other_server, m.other, tool_rag._show_hidden(m.sentence)), 200)
    from meant m
$$;
comment on function tool_rag._lint_names(text, jsonb) is
'What the tools of a server have to do with those of others: names that look like theirs, copies, '
'and texts that say when not to use them. Null: of no server.';

create or replace function tool_rag._lint_export(p_server text, p_tools jsonb)
returns table (
    name text, rule text, severity text, field text, place int, excerpt text
)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select f.name, f.rule, f.severity, f.field, f.place, f.excerpt
    from (
        select * from tool_rag._lint_texts(p_tools)
        union all
        select * from tool_rag._lint_names(p_server, p_tools)
    ) f
    order by f.name collate "C", array_position('{high,medium,low}', f.severity),
        f.field collate "C", f.place, f.rule, f.excerpt collate "C"
$$;
comment on function tool_rag._lint_export(text, jsonb) is
'All that the linter finds in tools of a server, the gravest of each tool first.';

create or replace function tool_rag.lint_tools(payload jsonb)
returns table (
    server text, tool text, rule text, severity text, field text, place int, excerpt text
)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform tool_rag._check_unbound();
    if exists (
        select
        from jsonb_array_elements(
            case jsonb_typeof(payload) when 'array' then payload else jsonb_build_array(payload) end
        ) e
        where jsonb_typeof(e.value) is distinct from 'object'
            or jsonb_typeof(e.value -> 'tools') is distinct from 'array'
            or coalesce(jsonb_typeof(e.value -> 'server'), 'null') not in ('string', 'null')
            or exists (
                select
                from jsonb_array_elements(
                    case jsonb_typeof(e.value -> 'tools') when 'array' then e.value -> 'tools' end
                ) t
                where jsonb_typeof(t.value -> 'name') is distinct from 'string'
            )
    ) then
        raise exception 'the payload is not an export of tools' using
            errcode = 'invalid_parameter_value',
            hint = 'Pass {"server": "name", "tools": [{"name": ..., "description": ..., '
                '"input_schema": {...}}, ...]} or an array of such objects.';
    end if;
    return query
    select e.value ->> 'server', f.name, f.rule, f.severity, f.field, f.place, f.excerpt
    from jsonb_array_elements(
        case jsonb_typeof(payload) when 'array' then payload else jsonb_build_array(payload) end
    ) with ordinality e
    cross join lateral tool_rag._lint_export(
        e.value ->> 'server', e.value -> 'tools'
    ) with ordinality f (name, rule, severity, field, place, excerpt, number)
    order by e.ordinality, f.number;
end
$$;
comment on function tool_rag.lint_tools(jsonb) is
'What the linter finds in an export (or an array of them), as upsert_tools takes it, beside the '
'catalogue. Nothing is stored.';

create or replace function tool_rag.lint_catalogue(
    server_pattern text default '*', tool_pattern text default '*'
) returns table (
    server text, tool text, rule text, severity text, field text, place int, excerpt text
)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select s.name, f.name, f.rule, f.severity, f.field, f.place, f.excerpt
    from tool_rag.server s
    cross join lateral (
        select jsonb_agg(
            jsonb_build_object(
                'name', t.name, 'title', t.title, 'description', t.description,
                'input_schema', t.input_schema, 'output_schema', t.output_schema,
                'annotations', t.annotations, 'synonyms', (
                    select jsonb_agg(y.words order by y.words)
                    from tool_rag.synonym y
                    where y.tool_id = t.tool_id
                )
            )
            order by t.name collate "C"
        ) as tools
        from tool_rag.tool t
        where t.server_id = s.server_id
            and tool_rag._matches(lint_catalogue.tool_pattern, t.name)
    ) v
    cross join lateral tool_rag._lint_export(s.name, v.tools) with ordinality f (
        name, rule, severity, field, place, excerpt, number
    )
    where tool_rag._check_unbound() and v.tools is not null
        and tool_rag._matches(lint_catalogue.server_pattern, s.name)
    order by s.name collate "C", f.number
$$;
comment on function tool_rag.lint_catalogue(text, text) is
'What the linter finds in the tools of the catalogue that fit two patterns. For admins.';
