-- Schedules: rules that begin later, or hold only in hours of the day.

-- They take or return more now. (In an empty database they are not there yet, which needs no notice.)
set local client_min_messages = warning;
drop function if exists tool_rag.grant_tools(text, text, text, text, timestamptz);
drop function if exists tool_rag.revoke_tools(text, text, text, text);
drop function if exists tool_rag.store_rules(jsonb, text[]);
drop function if exists tool_rag.explain_access(text, text, text);
drop function if exists tool_rag._rules_on(int, text, text);
drop function if exists tool_rag.list_rules(text);

create table tool_rag.role_schedule (
    -- Below zero, where no role is: rows of role_tool carry these numbers beside those of roles.
    schedule_id int generated always as identity (increment by -1),
    role_id int not null,
    effect text not null,
    valid_from timestamptz not null,
    weekdays int[],
    hours_from time(0),
    hours_until time(0),
    time_zone text,
    constraint role_schedule_pkey primary key (schedule_id),
    constraint role_schedule_key unique nulls not distinct (
        role_id, effect, valid_from, weekdays, hours_from, hours_until, time_zone
    ),
    constraint role_schedule_role_id_fkey foreign key (role_id)
    references tool_rag.role (role_id) on delete cascade,
    constraint role_schedule_schedule_id_check check (schedule_id < 0)
);
comment on table tool_rag.role_schedule is
'The different schedules that a role''s own rules have, kept by triggers. To role_tool each is a role '
'by itself, with the rules of that schedule; who holds the role holds it while it is in force. Never '
'edit it.';
comment on column tool_rag.role_schedule.effect is
'That of its rules: of a schedule that can''t be read, allows do not hold and denies do.';

alter table tool_rag.role add constraint role_role_id_check check (role_id > 0);

-- What goes with a role or a schedule is taken away by trigger: the number may be of either.
alter table tool_rag.role_tool drop constraint role_tool_role_id_fkey;
comment on column tool_rag.role_tool.role_id is
'A role, or below zero a schedule of one (role_schedule).';

alter table tool_rag.grant_rule
add column valid_from timestamptz not null default '-infinity',
add column weekdays int[],
add column hours_from time(0),
add column hours_until time(0),
add column time_zone text,
add column schedule_id int,
drop constraint grant_rule_key,
add constraint grant_rule_key unique nulls not distinct (
    role_id, server_pattern, tool_pattern, effect, schedule_id
),
add constraint grant_rule_schedule_id_fkey foreign key (schedule_id)
references tool_rag.role_schedule (schedule_id) on delete cascade,
add constraint grant_rule_hours_check check (
    num_nulls(weekdays, hours_from, hours_until, time_zone) in (0, 4)
),
add constraint grant_rule_weekdays_check check (
    weekdays <@ '{1,2,3,4,5,6,7}' and cardinality(weekdays) > 0
),
add constraint grant_rule_hours_from_check check (hours_from < '24:00');
create index grant_rule_schedule_id_idx on tool_rag.grant_rule (schedule_id)
where schedule_id is not null;
comment on column tool_rag.grant_rule.valid_from is
'Beginning of validity, likewise; -infinity for none.';
comment on column tool_rag.grant_rule.weekdays is
'Days on which its hours begin, as ISO 8601 counts them: 1 is Monday, 7 Sunday. Null, as the three '
'columns that follow: it holds at all hours.';
comment on column tool_rag.grant_rule.hours_from is 'When it begins to hold on these days.';
comment on column tool_rag.grant_rule.hours_until is
'When it ceases to. Not later than hours_from: on the day after.';
comment on column tool_rag.grant_rule.time_zone is
'Whose clock that is: a name of pg_timezone_names with a "/", or UTC.';
comment on column tool_rag.grant_rule.schedule_id is
'Filled by trigger: where it has a beginning or hours, the row of role_schedule with these.';

alter table tool_rag.role_schedule enable row level security;
