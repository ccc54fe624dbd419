-- Ranking: what the two arms of a search read. All of it is derived from tools by trigger.

create table tool_rag.ranking_setting (
    singleton boolean not null default true,
    text_search_config regconfig not null default 'pg_catalog.english',
    bm25_k1 real not null default 1.6,
    bm25_b real not null default 0.75,
    name_weight real not null default 2,
    title_weight real not null default 2,
    description_weight real not null default 1,
    parameter_name_weight real not null default 0.5,
    parameter_description_weight real not null default 0.5,
    parameter_value_weight real not null default 1,
    server_weight real not null default 0.25,
    full_vector_weight real not null default 1,
    short_vector_weight real not null default 0.5,
    name_vector_weight real not null default 0.2,
    constraint ranking_setting_pkey primary key (singleton),
    constraint ranking_setting_singleton_check check (singleton),
    constraint ranking_setting_bm25_check check (bm25_k1 > 0 and bm25_b between 0 and 1),
    constraint ranking_setting_weight_check check (
        least(
            name_weight, title_weight, description_weight, parameter_name_weight,
            parameter_description_weight, parameter_value_weight, server_weight,
            full_vector_weight, short_vector_weight, name_vector_weight
        ) >= 0
    )
);
comment on table tool_rag.ranking_setting is
'One row of parameters of the index. After an update the catalogue is indexed anew in the same '
'transaction, except for bm25_k1 and bm25_b, which a search reads.';
comment on column tool_rag.ranking_setting.text_search_config is
'Which text-search configuration turns tools and requests into lexemes.';
insert into tool_rag.ranking_setting (singleton) values (true);

create table tool_rag.lexeme (
    lexeme_id int generated always as identity,
    lexeme text not null,
    document_frequency int not null,
    constraint lexeme_pkey primary key (lexeme_id),
    constraint lexeme_lexeme_key unique (lexeme),
    constraint lexeme_document_frequency_check check (document_frequency >= 0)
);
comment on table tool_rag.lexeme is 'The lexemes of all tools, each with the number of tools it is in.';

create table tool_rag.document (
    tool_id int not null,
    length int not null,
    lexeme_ids int[] not null,
    frequencies real[] not null,
    constraint document_pkey primary key (tool_id),
    constraint document_frequencies_check check (cardinality(frequencies) = cardinality(lexeme_ids))
);
comment on table tool_rag.document is
'The indexed tools and their length in weighted lexemes. Like posting it is written by trigger '
'only and goes without foreign keys: the deletion of a tool subtracts its rows from the statistics.';
comment on column tool_rag.document.lexeme_ids is
'Its lexemes, and in frequencies how often they occur: the postings of one tool in one row. With '
'it a search scores a few tools at once, however common the request''s words are, and postings '
'need no second index.';

create table tool_rag.posting (
    lexeme_id int not null,
    tool_id int not null,
    frequency real not null,
    length int not null,
    constraint posting_pkey primary key (lexeme_id, tool_id) include (frequency, length)
);
comment on table tool_rag.posting is
'Which lexeme stands in which tool. Frequency and length are all that BM25 needs, so that a search '
'reads only this index. Written by trigger only, without foreign keys, whose checks would cost '
'more than the rest of the index.';
comment on column tool_rag.posting.frequency is
'Occurrences, each weighted by its field (BM25F; Robertson, Zaragoza and Taylor 2004).';
comment on column tool_rag.posting.length is 'The tool''s document.length, repeated.';

create table tool_rag.embedding_model (
    model_id int generated always as identity,
    name text not null,
    dimensions int not null,
    fingerprint text,
    created_at timestamptz not null default now(),
    constraint embedding_model_pkey primary key (model_id),
    constraint embedding_model_name_key unique (name),
    constraint embedding_model_dimensions_check check (dimensions between 1 and 4000)
);
comment on table tool_rag.embedding_model is
'Models whose vectors this database holds. Number 1 is the built-in one, computed in SQL.';
comment on column tool_rag.embedding_model.fingerprint is
'SHA-256 of the built-in model''s weights as loaded; null until they are.';
insert into tool_rag.embedding_model (name, dimensions) values ('built-in', 256);

create table tool_rag.word_piece (
    piece text collate "C" not null,
    embedding @extschema:vector@.halfvec(256) not null,
    constraint word_piece_pkey primary key (piece)
);
comment on table tool_rag.word_piece is
'The built-in model: word pieces ("##" begins a continuation) and their vectors.';

create table tool_rag.tool_vector (
    tool_id int not null,
    model_id int not null,
    kind text not null,
    source_id int not null default 0,
    embedding @extschema:vector@.halfvec not null,
    constraint tool_vector_pkey primary key (model_id, tool_id, kind, source_id),
    constraint tool_vector_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade,
    constraint tool_vector_model_id_fkey foreign key (model_id)
    references tool_rag.embedding_model (model_id) on delete cascade,
    constraint tool_vector_kind_check check (kind in ('definition'))
);
create index tool_vector_tool_id_idx on tool_rag.tool_vector (tool_id);
create index tool_vector_built_in_idx on tool_rag.tool_vector
using hnsw ((embedding::@extschema:vector@.halfvec(256)) @extschema:vector@.halfvec_ip_ops)
with (ef_construction = 128)
where model_id = 1;
comment on table tool_rag.tool_vector is
'Vectors of tools. A tool''s definition has one: the weighted sum of the unit vectors of its full '
'text, its short text and its name, whose inner product with a request''s vector is the weighted '
'sum of the three cosines.';
comment on column tool_rag.tool_vector.source_id is 'Which of several texts of one kind.';
