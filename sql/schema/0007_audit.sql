-- The audit: who changed what, and, as far as it is switched on, who searched and called what.

create table tool_rag.change (
    change_id bigint generated always as identity,
    changed_at timestamptz not null default clock_timestamp(),
    transaction_id xid8 not null default pg_current_xact_id(),
    login text not null default session_user,
    acting_role text default nullif(current_setting('role'), 'none'),
    actor text default nullif(current_setting('tool_rag.actor', true), ''),
    object text not null,
    object_id text not null,
    label text not null,
    action text not null,
    before jsonb,
    after jsonb,
    constraint change_pkey primary key (change_id),
    constraint change_action_check check (action in ('insert', 'update', 'delete')),
    constraint change_rows_check check (
        (before is null) = (action = 'insert') and (after is null) = (action = 'delete')
    )
);
create index change_object_id_idx on tool_rag.change (object, object_id, change_id);
create index change_changed_at_idx on tool_rag.change (changed_at);
comment on table tool_rag.change is
'Every change of catalogue, wording and access, one row for each row changed, written by trigger in '
'the same transaction, so also for plain SQL. Rows are only ever added; purge_audit takes old ones.';
comment on column tool_rag.change.changed_at is
'When the statement ran. Edits are ordered one transaction after another, so change_id is their order.';
comment on column tool_rag.change.login is 'The Postgres login (session_user).';
comment on column tool_rag.change.acting_role is 'The Postgres role set by SET ROLE, if any.';
comment on column tool_rag.change.actor is
'The person as the backend names them in the setting tool_rag.actor: a claim, not checked.';
comment on column tool_rag.change.object is 'Which table.';
comment on column tool_rag.change.object_id is 'The row''s key.';
comment on column tool_rag.change.label is
'The row in words, as it was called then: names of what is gone stay readable.';
comment on column tool_rag.change.before is 'The row before, without what triggers derive.';
comment on column tool_rag.change.after is 'The row after, likewise.';

create table tool_rag.audit_setting (
    singleton boolean not null default true,
    level text not null default 'off',
    keep_events interval not null default '90 days',
    keep_changes interval,
    changes_purged_until timestamptz not null default '-infinity',
    constraint audit_setting_pkey primary key (singleton),
    constraint audit_setting_singleton_check check (singleton),
    constraint audit_setting_level_check check (level in ('off', 'counts', 'full')),
    constraint audit_setting_keep_check check (least(keep_events, keep_changes) >= '0')
);
comment on table tool_rag.audit_setting is 'One row: what is recorded of searches and calls, and how long.';
comment on column tool_rag.audit_setting.level is
'off: no search and no call; counts: who, when and how much; full: also the words and the tools.';
comment on column tool_rag.audit_setting.keep_events is 'How long purge_audit leaves searches and calls.';
comment on column tool_rag.audit_setting.keep_changes is 'How long it leaves changes; null: for ever.';
comment on column tool_rag.audit_setting.changes_purged_until is
'Up to when changes were purged: what access was before can''t be told any more.';
insert into tool_rag.audit_setting (singleton) values (true);

create table tool_rag.audit_event (
    event_id bigint generated always as identity,
    happened_at timestamptz not null default clock_timestamp(),
    kind text not null,
    login text not null default session_user,
    acting_role text default nullif(current_setting('role'), 'none'),
    actor text default nullif(current_setting('tool_rag.actor', true), ''),
    roles text[],
    conversation text,
    outcome text not null,
    tools int,
    tokens int,
    milliseconds real,
    detail jsonb,
    constraint audit_event_pkey primary key (event_id),
    constraint audit_event_kind_check check (kind in ('search', 'call'))
);
create index audit_event_happened_at_idx on tool_rag.audit_event (happened_at);
comment on table tool_rag.audit_event is
'Searches and calls, as far as audit_setting.level has them recorded.';
comment on column tool_rag.audit_event.roles is 'The roles asked with; null: those of the session.';
comment on column tool_rag.audit_event.outcome is
'Of a search: found or empty. Of a call what the caller recorded: allowed, refused, confirmed, ...';
comment on column tool_rag.audit_event.tools is 'How many tools the answer held.';
comment on column tool_rag.audit_event.tokens is 'Their estimated tokens.';
comment on column tool_rag.audit_event.milliseconds is 'How long it took in the server.';
comment on column tool_rag.audit_event.detail is
'At the level full: the query and the tools it found, or the tool called and what was recorded of it.';

alter table tool_rag.change enable row level security;
alter table tool_rag.audit_setting enable row level security;
alter table tool_rag.audit_event enable row level security;
