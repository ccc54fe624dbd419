-- How likely it is that a tool serves a request: a logistic model of what the arms say, fitted by
-- benchmarks/fit_relevance.py (docs/relevance.md says on what, and how far it holds).

create or replace function tool_rag._relevance(
    p_similarity float8, p_word_score float8, p_lexeme_count int, p_sameness float8,
    p_document_count int
) returns float8
language sql immutable parallel safe
return 1 / (1 + exp(-greatest(-30, least(30,
    -0.61
    + 9.07 * coalesce(p_similarity, 0)
    -- In units of a word that stands in no tool.
    + 3.86 * coalesce(p_word_score, 0) / ln(1 + (p_document_count + 0.5) / 0.5)
    -- Long requests match more words by chance,
    - 0.23 * sqrt(p_lexeme_count)
    -- some resemble any tool,
    - 8.26 * coalesce(p_sameness, 0)
    -- and the best of many is better by chance, too.
    - 0.8 * ln(greatest(30, least(10000, p_document_count)))
))));
comment on function tool_rag._relevance(float8, float8, int, float8, int) is
'How likely it is, from 0 to 1, that a tool serves a request, if half of all requests are served by '
'some tool: of the similarity, the BM25 score, how many different lexemes the request has, its '
'similarity to tools in general, and the size of the catalogue.';

create or replace function tool_rag._tool_in_general() returns @extschema:vector@.halfvec
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        '['
        || '-0.0097,0.0515,-0.0118,-0.0214,-0.0184,0.0207,-0.0618,-0.0162,-0.0161,-0.0351,'
        || '0.0086,0.0202,0.0075,-0.0139,-0.0014,0.0102,0.0093,0.0067,-0.0311,0.0132,-0.0044,'
        || '-0.0102,0.0372,0.0059,0.0067,-0.0084,-0.0029,-0.0054,-0.0236,0.0191,0.0005,0.0273,'
        || '0.0376,0.0096,0.0212,-0.003,0.0202,-0.0048,-0.0209,-0.0261,-0.0021,0.0107,0.0159,'
        || '-0.0185,-0.0249,0.0103,-0.0148,-0.0343,0.0033,0.0196,0.0294,0.0031,0.0398,-0.0253,'
        || '0.0192,-0.0127,-0.023,-0.0042,0.0163,0.0109,0.0443,0.0082,-0.0266,0.0233,0.0045,'
        || '-0.0156,-0.0121,0.0013,-0.0084,0.0064,-0.0176,0.011,-0.0001,-0.017,0.0364,0.006,'
        || '0.0285,-0.0019,0.0265,-0.0219,-0.0169,-0.0074,0.0139,0.0173,0.0199,-0.0111,0.014,'
        || '-0.0109,-0.0158,0.0043,0.0082,0.0174,-0.0107,-0.0023,-0.0131,0.0139,-0.0292,'
        || '-0.0115,0.0014,0.0254,0.0176,0.0121,-0.0112,0.0012,-0.0099,-0.0097,-0.0069,0.0041,'
        || '-0.0126,0.0007,0.0172,0.0048,-0.0027,0.0141,-0.0166,-0.0042,-0.0059,-0.0246,'
        || '-0.0156,0.0132,-0.0147,0.0037,-0.0279,-0.0176,0.0077,0.0027,-0.0032,0.0129,'
        || '-0.0185,0.0242,0.0058,-0.0239,0.0036,-0.013,-0.0188,0.0219,0.0025,-0.0135,0.0034,'
        || '-0.0189,0.0055,0.0047,-0.0265,-0.0043,0.0166,0.0037,0.0117,-0.0023,-0.0109,-0.014,'
        || '0.0145,-0.0043,0.021,0.0111,0.0287,0.0005,0.0137,0.0284,0.0053,-0.028,0.0142,'
        || '-0.0126,0.0108,-0.0065,-0.0173,0.0158,-0.0296,-0.0278,-0.0225,-0.0129,0.0061,'
        || '0.0227,-0.0004,0.0154,-0.0228,-0.0037,-0.0001,0.0047,0.0027,0.0199,0.0157,0.0044,'
        || '0.0197,-0.0074,-0.0167,0.0147,0.0185,-0.0015,-0.025,0.013,0.0035,0.0014,0.0257,'
        || '0.0118,-0.0157,-0.0092,0.0172,-0.0199,-0.0063,0.0089,-0.0113,-0.0152,0.0235,'
        || '-0.0051,0.0234,-0.002,0.0064,-0.0154,-0.0012,0.0132,0.0256,-0.0136,-0.0139,0.0008,'
        || '-0.019,-0.0105,0.0236,0.0085,-0.0031,-0.0184,-0.006,0.0124,-0.0005,0.0232,-0.0102,'
        || '-0.0236,0.0251,0.0001,0.0195,0.018,-0.0067,-0.0352,-0.0228,-0.0068,-0.0245,'
        || '-0.0065,0.0009,0.0059,-0.015,0.0008,0.0153,-0.0066,0.0026,0.0202,0.0167,-0.0138,'
        || '0.0013,0.0068,0.0066,-0.0101,-0.0174,-0.0183,-0.0031,-0.0085,0.0139,-0.0122'
        || ']'
    )::@extschema:vector@.halfvec;
end
$$;
comment on function tool_rag._tool_in_general() is
'The mean vector of the tools of four public sets, by the built-in model: what a request resembles '
'in it, it resembles in any tool.';
