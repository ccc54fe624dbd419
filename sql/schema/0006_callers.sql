-- Who asks: what logins of Postgres are bound to and trusted with, and where a token names roles.

create table tool_rag.login (
    login_id int generated always as identity,
    name text not null,
    role_oid oid not null,
    is_bound boolean not null default false,
    is_trusted boolean not null default false,
    created_at timestamptz not null default now(),
    constraint login_pkey primary key (login_id),
    constraint login_name_key unique (name),
    constraint login_name_check check (name <> '')
);
comment on table tool_rag.login is
'Logins (and group roles) of Postgres about which an admin has decided something. What is not here '
'is neither bound nor trusted.';
comment on column tool_rag.login.role_oid is
'Its number when the row was written. A binding holds for whoever has the name or the number, so '
'that renaming a login or making it anew does not set it free; trust needs both.';
comment on column tool_rag.login.is_bound is
'Whether it sees at most what its rows of login_role see together, which may be nothing.';
comment on column tool_rag.login.is_trusted is
'Whether its argument "allowed" counts without roles, and its argument "roles" beside a token.';

create table tool_rag.login_role (
    login_id int not null,
    role_id int not null,
    constraint login_role_pkey primary key (login_id, role_id),
    constraint login_role_login_id_fkey foreign key (login_id)
    references tool_rag.login (login_id) on delete cascade,
    constraint login_role_role_id_fkey foreign key (role_id)
    references tool_rag.role (role_id) on delete cascade
);
create index login_role_role_id_idx on tool_rag.login_role (role_id);
comment on table tool_rag.login_role is
'The roles that bound logins have. A role that is removed leaves a binding to what is left.';

create table tool_rag.access_setting (
    singleton boolean not null default true,
    roles_claim text[] default '{roles}',
    strict_statistics boolean not null default false,
    constraint access_setting_pkey primary key (singleton),
    constraint access_setting_singleton_check check (singleton),
    constraint access_setting_roles_claim_check check (
        cardinality(roles_claim) > 0 and array_position(roles_claim, null) is null
        and roles_claim[1] not in ('user_metadata', 'raw_user_meta_data')
    )
);
comment on table tool_rag.access_setting is 'One row of settings about who asks.';
comment on column tool_rag.access_setting.roles_claim is
'Where request.jwt.claims has the roles, as a path of keys; null: nowhere. Never in what users may '
'edit themselves, as Supabase''s user_metadata.';
comment on column tool_rag.access_setting.strict_statistics is
'Whether every search counts words in the tools that its caller may see and in no other, whatever '
'its option "statistics" says.';
insert into tool_rag.access_setting (singleton) values (true);

-- Nobody but the owner and, by a policy that sql/functions/095_privileges.sql makes, admins reads a
-- row, whatever is granted on a table by mistake. Functions run as the owner.
alter table tool_rag.server enable row level security;
alter table tool_rag.tool enable row level security;
alter table tool_rag.catalogue_state enable row level security;
alter table tool_rag.role enable row level security;
alter table tool_rag.role_parent enable row level security;
alter table tool_rag.grant_rule enable row level security;
alter table tool_rag.role_tool enable row level security;
alter table tool_rag.ranking_setting enable row level security;
alter table tool_rag.lexeme enable row level security;
alter table tool_rag.document enable row level security;
alter table tool_rag.posting enable row level security;
alter table tool_rag.embedding_model enable row level security;
alter table tool_rag.word_piece enable row level security;
alter table tool_rag.tool_vector enable row level security;
alter table tool_rag.synonym enable row level security;
alter table tool_rag.example enable row level security;
alter table tool_rag.dependency enable row level security;
alter table tool_rag.tool_use enable row level security;
alter table tool_rag.tool_sent enable row level security;
alter table tool_rag.message enable row level security;
alter table tool_rag.tool_name enable row level security;
alter table tool_rag.login enable row level security;
alter table tool_rag.login_role enable row level security;
alter table tool_rag.access_setting enable row level security;
