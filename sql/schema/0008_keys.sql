-- Keys of callers, of whom only a digest is stored.

create table tool_rag.api_key (
    key_id int generated always as identity,
    public_id text not null,
    name text not null,
    digest bytea not null,
    former_digest bytea,
    former_until timestamptz not null default '-infinity',
    identity jsonb not null default '{}',
    expires_at timestamptz not null default 'infinity',
    revoked_at timestamptz,
    created_at timestamptz not null default now(),
    rotated_at timestamptz,
    last_used_at timestamptz,
    constraint api_key_pkey primary key (key_id),
    constraint api_key_public_id_key unique (public_id),
    constraint api_key_name_key unique (name),
    constraint api_key_public_id_check check (public_id ~ '^[a-z0-9]{12}$'),
    constraint api_key_name_check check (length(name) between 1 and 256),
    constraint api_key_digest_check check (
        length(digest) = 32 and coalesce(length(former_digest), 32) = 32
    ),
    constraint api_key_identity_check check (jsonb_typeof(identity) = 'object')
);
comment on table tool_rag.api_key is
'Keys by which callers of a gateway or of admin pages show who they are. Of a key''s 256 random bits '
'only an HMAC is here, made with a secret that the database never sees: the table alone lets nobody in.';
comment on column tool_rag.api_key.public_id is 'The part of the key that is no secret, to find it by.';
comment on column tool_rag.api_key.digest is 'HMAC-SHA256 of the whole key.';
comment on column tool_rag.api_key.former_digest is
'That of the key before the last rotation, which is good until former_until.';
comment on column tool_rag.api_key.identity is
'On whose behalf calls are made: values of identity parameters by name.';

create table tool_rag.api_key_role (
    key_id int not null,
    role_id int not null,
    constraint api_key_role_pkey primary key (key_id, role_id),
    constraint api_key_role_key_id_fkey foreign key (key_id)
    references tool_rag.api_key (key_id) on delete cascade,
    constraint api_key_role_role_id_fkey foreign key (role_id)
    references tool_rag.role (role_id) on delete cascade
);
create index api_key_role_role_id_idx on tool_rag.api_key_role (role_id);
comment on table tool_rag.api_key_role is
'The roles a key asks with. A key whose roles were all removed sees nothing.';

alter table tool_rag.api_key enable row level security;
alter table tool_rag.api_key_role enable row level security;
