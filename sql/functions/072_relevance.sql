-- How likely it is that a tool serves a request: a logistic model of what the arms say, fitted by
-- benchmarks/fit_relevance.py (docs/relevance.md says on what, and how far it holds).

create or replace function tool_rag._relevance(
    p_similarity float8, p_word_score float8, p_lexeme_count int, p_sameness float8,
    p_document_count int
) returns float8
language sql immutable parallel safe
return 1 / (1 + exp(-greatest(-30, least(30,
    -0.51
    + 8.79 * coalesce(p_similarity, 0)
    -- In units of a word that stands in no tool.
    + 3.83 * coalesce(p_word_score, 0) / ln(1 + (p_document_count + 0.5) / 0.5)
    -- Long requests match more words by chance,
    - 0.228 * sqrt(p_lexeme_count)
    -- some resemble any tool,
    - 8.18 * coalesce(p_sameness, 0)
    -- and the best of many is better by chance, too.
    - 0.783 * ln(greatest(30, least(10000, p_document_count)))
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
        || '-0.008,0.0593,-0.0046,-0.0039,-0.012,0.0308,-0.0566,-0.0345,-0.0203,-0.0477,0.0175,'
        || '0.0369,-0.0032,-0.0057,0.0116,0.0281,0.0006,0.0006,-0.0208,0.0198,-0.012,-0.0236,'
        || '0.0342,0.0107,0.0178,-0.0001,0.002,-0.0062,-0.0159,0.0238,-0.007,0.0192,0.0454,'
        || '0.0189,0.0327,0.0016,0.0248,0.0093,-0.0111,-0.0158,0.0069,0.0085,0.0186,-0.0285,'
        || '-0.024,0.0054,-0.0124,-0.0317,0.0123,0.0176,0.0381,-0.0002,0.0423,-0.0252,0.0068,'
        || '-0.022,-0.0232,0.0136,0.0052,0.0069,0.0325,0.0136,-0.0351,0.0274,-0.0052,-0.0212,'
        || '-0.0026,-0.0115,-0.0071,-0.0005,-0.0324,0.0017,0.0058,-0.0209,0.0374,0.0073,0.0291,'
        || '-0.0103,0.0228,-0.0166,-0.0034,-0.0066,0.0107,0.0136,0.0127,-0.011,0.006,-0.011,'
        || '-0.0207,0.0002,0.0242,0.0112,0.0057,-0.0006,-0.0109,0.0205,-0.0227,-0.016,-0.0016,'
        || '0.0185,0.0207,0.0116,-0.0111,0.0071,-0.0142,-0.0063,-0.0078,0.0106,-0.0143,-0.0068,'
        || '0.0014,0.0064,-0.0001,0.0238,-0.0141,-0.011,-0.0032,-0.0235,-0.0183,0.0044,-0.011,'
        || '0.0118,-0.0257,-0.0045,0.0067,0.0062,0.0055,-0.0008,-0.0093,0.016,0.0009,-0.0155,'
        || '-0.0029,-0.017,-0.0154,0.0245,-0.0008,-0.0017,-0.0013,-0.0166,0.0126,0.0165,-0.0178,'
        || '-0.0136,0.0221,0.0067,0.019,-0.0106,-0.0116,-0.0163,0.0231,-0.0029,0.0118,0.0169,'
        || '0.0274,0.0088,0.0008,0.0349,0.0075,-0.0343,0.02,-0.0165,0.0068,-0.0104,-0.0084,'
        || '0.0087,-0.0222,-0.0314,-0.0119,-0.0139,-0.001,0.0237,0.0014,0.0265,-0.0246,-0.0104,'
        || '-0.0091,0.0001,0.0075,0.0187,0.0061,0.0055,0.0138,0.0041,-0.0177,0.0133,0.0353,'
        || '-0.0133,-0.0245,0.0086,0.0048,0.0062,0.0226,0.0051,-0.0174,0.007,0.0221,-0.0126,'
        || '-0.0086,0.0048,-0.0181,-0.0175,0.0176,-0.0071,0.0178,-0.0032,0.0133,-0.0086,0.0004,'
        || '0.0223,0.0201,-0.0133,-0.0042,0.0016,-0.0239,-0.0212,0.0201,0.0097,-0.0026,-0.003,'
        || '0.003,0.0114,-0.009,0.031,-0.0261,-0.0122,0.0235,0.0002,0.0111,0.01,0.007,-0.0231,'
        || '-0.0136,0.0004,-0.029,0.0005,-0.0027,0.0126,-0.0131,0.0035,0.0125,-0.0084,-0.0061,'
        || '0.0077,0.0194,-0.0129,-0.0101,0.0176,0.008,-0.0153,-0.0137,-0.0119,-0.0158,-0.0019,'
        || '0.0061,-0.0104'
        || ']'
    )::@extschema:vector@.halfvec;
end
$$;
comment on function tool_rag._tool_in_general() is
'The mean vector of the tools of four public sets, by the built-in model: what a request resembles '
'in it, it resembles in any tool.';
