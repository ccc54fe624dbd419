-- Stronger embedding models beside the built-in one.

alter table tool_rag.embedding_model
add column query_prompt text not null default '',
add column document_prompt text not null default '',
add column is_active boolean not null default false,
add constraint embedding_model_name_check check (length(name) between 1 and 256);
create unique index embedding_model_active_idx on tool_rag.embedding_model (is_active)
where is_active;
comment on column tool_rag.embedding_model.query_prompt is
'What a client puts before a request when it embeds it; document_prompt: before a tool''s text.';
comment on column tool_rag.embedding_model.is_active is
'Whether a search takes a caller''s vector for one of this model, where the caller names none.';

alter table tool_rag.tool_vector add column source_hash bytea;
comment on column tool_rag.tool_vector.source_hash is
'Hash of the text and the prompt that were embedded; null for the built-in model, whose vectors follow every edit.';
