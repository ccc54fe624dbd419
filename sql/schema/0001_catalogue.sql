-- The catalogue: servers, their tools, and the counter that orders all edits.
-- Runs once; the schema tool_rag and its version table exist already.

create table tool_rag.server (
    server_id int generated always as identity,
    name text not null,
    title text,
    description text,
    enabled boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint server_pkey primary key (server_id),
    constraint server_name_key unique (name),
    constraint server_name_check check (name <> '' and length(name) <= 256 and name !~ '[/*]')
);
comment on table tool_rag.server is
'A source of tools: an MCP server, an API, or one export of function definitions.';
comment on column tool_rag.server.name is
'What patterns and results call it; without "/" and "*", which patterns use.';
comment on column tool_rag.server.enabled is
'False hides all its tools from every role, without losing grants or index.';

create table tool_rag.tool (
    tool_id int generated always as identity,
    server_id int not null,
    name text not null,
    title text,
    description text not null default '',
    input_schema jsonb not null default '{"type": "object", "properties": {}}',
    output_schema jsonb,
    annotations jsonb not null default '{}',
    is_action boolean,
    identity_parameters text[] not null default '{}',
    enabled boolean not null default true,
    content_hash bytea not null,
    token_count int not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint tool_pkey primary key (tool_id),
    constraint tool_server_id_name_key unique (server_id, name),
    constraint tool_server_id_fkey foreign key (server_id)
    references tool_rag.server (server_id) on delete cascade,
    constraint tool_name_check check (name <> '' and length(name) <= 256),
    constraint tool_input_schema_check check (jsonb_typeof(input_schema) = 'object'),
    constraint tool_output_schema_check check (jsonb_typeof(output_schema) = 'object'),
    constraint tool_annotations_check check (jsonb_typeof(annotations) = 'object'),
    constraint tool_is_action_check check (is_action is not null)
);
comment on table tool_rag.tool is
'One tool as its server describes it. Ranking data follows every edit in the same transaction.';
comment on column tool_rag.tool.input_schema is 'JSON Schema of the arguments.';
comment on column tool_rag.tool.annotations is 'MCP tool annotations, as exported.';
comment on column tool_rag.tool.is_action is
'Whether a call changes something. Left null it is taken from annotations.readOnlyHint and '
'destructiveHint; where these say nothing a tool counts as an action, as the MCP default has it.';
comment on column tool_rag.tool.identity_parameters is
'Arguments that say on whose behalf a call is made, to be filled by the caller''s backend.';
comment on column tool_rag.tool.content_hash is
'SHA-256 over everything a server exports for the tool; set by trigger.';
comment on column tool_rag.tool.token_count is
'Estimated tokens of the definition as a model receives it (docs/design.md states the error); '
'set by trigger.';

create table tool_rag.catalogue_state (
    singleton boolean not null default true,
    version bigint not null default 0,
    document_count int not null default 0,
    total_length bigint not null default 0,
    constraint catalogue_state_pkey primary key (singleton),
    constraint catalogue_state_singleton_check check (singleton)
);
comment on table tool_rag.catalogue_state is
'One row. Every transaction that edits the catalogue or access locks it first, so that derived '
'rows (role_tool, posting, lexeme) are computed from all committed edits; searches never lock it.';
comment on column tool_rag.catalogue_state.version is
'Grows with each edit of tools or access; a client may compare it instead of caching.';
comment on column tool_rag.catalogue_state.document_count is 'Indexed tools (BM25''s N).';
comment on column tool_rag.catalogue_state.total_length is
'Sum of document.length (N times BM25''s average length).';
insert into tool_rag.catalogue_state (singleton) values (true);
