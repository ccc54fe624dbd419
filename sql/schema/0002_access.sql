-- Access: roles, their inheritance, rules on patterns, and the expansion that searches read.

create table tool_rag.role (
    role_id int generated always as identity,
    name text not null,
    description text,
    created_at timestamptz not null default now(),
    constraint role_pkey primary key (role_id),
    constraint role_name_key unique (name),
    constraint role_name_check check (name <> '' and length(name) <= 256 and name !~ '[,{}"]')
);
comment on table tool_rag.role is 'A role of the application''s users (not a Postgres role).';

create table tool_rag.role_parent (
    role_id int not null,
    parent_id int not null,
    constraint role_parent_pkey primary key (role_id, parent_id),
    constraint role_parent_role_id_fkey foreign key (role_id)
    references tool_rag.role (role_id) on delete cascade,
    constraint role_parent_parent_id_fkey foreign key (parent_id)
    references tool_rag.role (role_id) on delete cascade
);
create index role_parent_parent_id_idx on tool_rag.role_parent (parent_id);
comment on table tool_rag.role_parent is
'Inheritance: a role holds every rule of its parents, allows and denies. Cycles are refused.';

create table tool_rag.grant_rule (
    grant_id int generated always as identity,
    role_id int not null,
    server_pattern text not null,
    tool_pattern text not null,
    effect text not null default 'allow',
    valid_until timestamptz not null default 'infinity',
    created_at timestamptz not null default now(),
    constraint grant_rule_pkey primary key (grant_id),
    constraint grant_rule_key unique (role_id, server_pattern, tool_pattern, effect),
    constraint grant_rule_role_id_fkey foreign key (role_id)
    references tool_rag.role (role_id) on delete cascade,
    constraint grant_rule_effect_check check (effect in ('allow', 'deny')),
    constraint grant_rule_server_pattern_check check (
        server_pattern <> '' and length(server_pattern) <= 256 and server_pattern !~ '/'
    ),
    constraint grant_rule_tool_pattern_check check (
        tool_pattern <> '' and length(tool_pattern) <= 256
    )
);
comment on table tool_rag.grant_rule is
'Rules on tools by pattern, "*" being any run of characters. A tool is permitted while at least '
'one allow that the caller''s roles hold is valid and no deny that they hold is.';
comment on column tool_rag.grant_rule.valid_until is
'End of validity, compared with the time of the search: expiry needs no job.';

create table tool_rag.role_tool (
    role_id int not null,
    tool_id int not null,
    server_id int not null,
    grant_id int,
    allow_until timestamptz not null,
    deny_until timestamptz not null,
    constraint role_tool_pkey primary key (tool_id, role_id)
    include (server_id, grant_id, allow_until, deny_until),
    constraint role_tool_role_id_fkey foreign key (role_id)
    references tool_rag.role (role_id) on delete cascade,
    constraint role_tool_tool_id_fkey foreign key (tool_id)
    references tool_rag.tool (tool_id) on delete cascade
);
-- One index to check a tool, one to list a role's; both hold all that a search reads.
create index role_tool_role_id_idx on tool_rag.role_tool (role_id, tool_id)
include (server_id, grant_id, allow_until, deny_until);
comment on table tool_rag.role_tool is
'grant_rule expanded over inheritance, patterns and enabled tools; kept exact by triggers in the '
'transaction of the edit. Never edit it.';
comment on column tool_rag.role_tool.grant_id is
'The allow that lasts longest (the lowest id among equals): what a result names as its grant.';
comment on column tool_rag.role_tool.allow_until is
'Latest end of the allows, -infinity where there is none.';
comment on column tool_rag.role_tool.deny_until is
'Latest end of the denies, -infinity where there is none.';
