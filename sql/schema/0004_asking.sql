-- How people and models ask: synonyms, example requests, what a call needs, misspelt names.

alter table tool_rag.ranking_setting
add column synonym_weight real not null default 1,
add constraint ranking_setting_synonym_weight_check check (synonym_weight >= 0);

create table tool_rag.synonym (
    synonym_id int generated always as identity,
    tool_id int,
    term text,
    words text not null,
    term_lexemes text[] not null,
    created_at timestamptz not null default now(),
    constraint synonym_pkey primary key (synonym_id),
    constraint synonym_key unique nulls not distinct (tool_id, term, words),
    constraint synonym_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade,
    constraint synonym_check check (num_nonnulls(tool_id, term) = 1),
    constraint synonym_term_check check (length(term) between 1 and 200),
    constraint synonym_words_check check (length(words) between 1 and 1000)
);
create index synonym_term_lexemes_idx on tool_rag.synonym using gin (term_lexemes)
where term is not null;
comment on table tool_rag.synonym is
'Words that people use: for one tool (tool_id), or for a term in any request (term). They count in '
'the search after the transaction that wrote them.';
comment on column tool_rag.synonym.term_lexemes is
'The term as lexemes, all of which a request must hold; set by trigger.';

create table tool_rag.example (
    example_id int generated always as identity,
    tool_id int not null,
    request text not null,
    origin text not null default 'human',
    lexemes text[] not null,
    created_at timestamptz not null default now(),
    constraint example_pkey primary key (example_id),
    constraint example_key unique (tool_id, request),
    constraint example_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade,
    constraint example_request_check check (length(request) between 1 and 2000),
    constraint example_origin_check check (origin in ('human', 'generated', 'feedback'))
);
comment on table tool_rag.example is
'Requests that a tool serves. Each has its own vector and lexemes; a tool scores by its best.';
comment on column tool_rag.example.origin is
'Who wrote it: a person, a model, or a search whose result was used.';
comment on column tool_rag.example.lexemes is 'The request as lexemes; set by trigger.';

alter table tool_rag.tool_vector
drop constraint tool_vector_kind_check,
add constraint tool_vector_kind_check check (kind in ('definition', 'synonym', 'example'));
-- Examples have an index of their own: a tool with twenty of them would fill the other's answers.
drop index tool_rag.tool_vector_built_in_idx;
create index tool_vector_definition_idx on tool_rag.tool_vector
using hnsw ((embedding::@extschema:vector@.halfvec(256)) @extschema:vector@.halfvec_ip_ops)
with (ef_construction = 128)
where model_id = 1 and kind = 'definition';
create index tool_vector_wording_idx on tool_rag.tool_vector
using hnsw ((embedding::@extschema:vector@.halfvec(256)) @extschema:vector@.halfvec_ip_ops)
with (ef_construction = 128)
where model_id = 1 and kind <> 'definition';
comment on table tool_rag.tool_vector is
'Vectors of tools. A tool''s definition has one: the weighted sum of the unit vectors of its full '
'text, its short text and its name, whose inner product with a request''s vector is the weighted '
'sum of the three cosines. Each synonym line and each example has one too, of a length that '
'makes its inner products comparable.';

create table tool_rag.dependency (
    tool_id int not null,
    needs_id int not null,
    reason text not null,
    created_at timestamptz not null default now(),
    constraint dependency_pkey primary key (tool_id, needs_id),
    constraint dependency_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade,
    constraint dependency_needs_id_fkey foreign key (needs_id)
    references tool_rag.tool (tool_id) on delete cascade,
    constraint dependency_check check (tool_id <> needs_id),
    constraint dependency_reason_check check (length(reason) between 1 and 1000)
);
create index dependency_needs_id_idx on tool_rag.dependency (needs_id);
comment on table tool_rag.dependency is
'What a tool can''t do without: a search that returns it returns, on top of k, what it needs, as '
'far as the caller may see it. Cycles are refused.';

create table tool_rag.tool_use (
    conversation text not null,
    turn int not null,
    tool_id int not null,
    used_at timestamptz not null default now(),
    constraint tool_use_pkey primary key (conversation, turn, tool_id),
    constraint tool_use_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade,
    constraint tool_use_conversation_check check (length(conversation) between 1 and 256),
    constraint tool_use_turn_check check (turn >= 0)
);
create index tool_use_tool_id_idx on tool_rag.tool_use (tool_id);
comment on table tool_rag.tool_use is
'Which tools a conversation used in which of its assistant turns; those of the last three stay in '
'its shortlists.';

create table tool_rag.tool_sent (
    conversation text not null,
    place int not null,
    tool_id int not null,
    sent_at timestamptz not null default now(),
    constraint tool_sent_pkey primary key (conversation, tool_id),
    constraint tool_sent_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade,
    constraint tool_sent_conversation_check check (length(conversation) between 1 and 256)
);
create index tool_sent_tool_id_idx on tool_rag.tool_sent (tool_id);
comment on table tool_rag.tool_sent is
'Which tools a conversation''s model was given, in order. With the option "keep_order" a search '
'keeps them in place, so that a prompt cache holds.';

create table tool_rag.message (
    conversation text not null,
    turn int not null,
    said text not null,
    said_at timestamptz not null default now(),
    constraint message_pkey primary key (conversation, turn),
    constraint message_conversation_check check (length(conversation) between 1 and 256),
    constraint message_turn_check check (turn >= 0),
    constraint message_said_check check (length(said) <= 10000)
);
comment on table tool_rag.message is
'The last four requests of conversations whose backend keeps none itself (record_message), which '
'the next search takes as its context.';

create table tool_rag.tool_name (
    tool_id int not null,
    folded text collate "C" not null,
    signature bit(256) not null,
    constraint tool_name_pkey primary key (tool_id),
    constraint tool_name_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade
);
create index tool_name_folded_idx on tool_rag.tool_name (folded);
comment on table tool_rag.tool_name is
'The names of tools as a misspelt name is compared with them, in rows narrow enough to read all. '
'Written by trigger only.';
comment on column tool_rag.tool_name.folded is 'The name without case, accents and separators.';
comment on column tool_rag.tool_name.signature is 'Its pairs of characters as bits.';
