-- Schedules of rules: hours of the day as a text and as columns, and whether they are in force.

create or replace function tool_rag._is_in_hours(
    p_time timestamptz, p_weekdays int[], p_from time, p_until time, p_time_zone text
) returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
-- From Postgres 18 on a session's own zone may give any name an offset of its choice:
-- set timezone = 'Europe/Berlin+5'.
set timezone = 'UTC'
as $$
declare
    v_local timestamp;
    v_clock time;
    v_weekday int;
begin
    if num_nulls(p_time, p_weekdays, p_from, p_until, p_time_zone) > 0
        or not pg_input_is_valid('2000-01-01 00:00 ' || p_time_zone, 'timestamptz')
    then
        return null;
    end if;
    v_local := p_time at time zone p_time_zone;
    v_clock := v_local::time;
    v_weekday := extract(isodow from v_local);
    if p_from < p_until then
        return v_clock >= p_from and v_clock < p_until and v_weekday = any(p_weekdays);
    end if;
    -- Past midnight they are those of the day before.
    return v_clock >= p_from and v_weekday = any(p_weekdays)
        or v_clock < p_until and (v_weekday + 5) % 7 + 1 = any(p_weekdays);
end
$$;
comment on function tool_rag._is_in_hours(timestamptz, int[], time, time, text) is
'Whether a clock in a time zone shows hours of some weekdays at a time: an hour that the clock skips '
'is not there, one that it shows twice is there twice. Null where the zone is not known.';

create or replace function tool_rag._is_in_force(p_rule tool_rag.grant_rule, p_time timestamptz)
returns boolean
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    -- Rules that the audit has from before there were schedules have no valid_from.
    select p_time >= coalesce((p_rule).valid_from, '-infinity') and p_time < (p_rule).valid_until
        and (
            num_nonnulls(
                (p_rule).weekdays, (p_rule).hours_from, (p_rule).hours_until, (p_rule).time_zone
            ) = 0
            or coalesce(
                tool_rag._is_in_hours(
                    p_time, (p_rule).weekdays, (p_rule).hours_from, (p_rule).hours_until,
                    (p_rule).time_zone
                ),
                (p_rule).effect = 'deny'
            )
        )
$$;
comment on function tool_rag._is_in_force(tool_rag.grant_rule, timestamptz) is
'Whether a rule holds at a time. Of hours that can''t be read, an allow does not and a deny does.';

create or replace function tool_rag._find_zone(p_name text) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text;
begin
    -- To list all names takes some milliseconds: those in use are known.
    select s.time_zone into v_name from tool_rag.role_schedule s where s.time_zone = p_name limit 1;
    if not found then
        select n.name into v_name
        from pg_timezone_names n
        where lower(n.name) = lower(p_name)
            -- CET is an offset to some and a region to others. The folders "posix" and "right",
            -- which some systems have, hold all names again.
            and (n.name ~ '/' or n.name = 'UTC') and n.name !~ '^(posix|right)/';
    end if;
    return v_name;
end
$$;
comment on function tool_rag._find_zone(text) is
'The name of a time zone as it is usually written; null where there is none, or an abbreviation.';

create or replace function tool_rag._parse_hours(
    p_hours text, out weekdays int[], out hours_from time, out hours_until time,
    out time_zone text, out fault text
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_names constant text[] := '{mon,tue,wed,thu,fri,sat,sun}';
    v_parts text[];
    v_part text;
    v_first int;
    v_last int;
begin
    if p_hours is null or lower(btrim(p_hours)) = 'always' then
        return;
    elsif length(p_hours) > 200 then
        fault := 'has more than 200 characters';
        return;
    end if;
    v_parts := regexp_match(
        btrim(p_hours),
        '^(?:([a-z]{3}(?:\s*[,-]\s*[a-z]{3})*)\s+)?(?:([0-9:]+)\s*-\s*([0-9:]+)\s+)?(\S+)$', 'i'
    );
    if v_parts is null or v_parts[4] ~ '^[0-9:-]+$' or num_nonnulls(v_parts[1], v_parts[2]) = 0 then
        fault := format('is %L, not days, hours and a time zone', p_hours);
        return;
    end if;
    weekdays := '{}';
    foreach v_part in array
        regexp_split_to_array(lower(coalesce(v_parts[1], 'mon-sun')), '\s*,\s*')
    loop
        v_first := array_position(v_names, left(v_part, 3));
        v_last := array_position(v_names, right(v_part, 3));
        if v_first is null or v_last is null or v_part !~ '^[a-z]{3}(\s*-\s*[a-z]{3})?$' then
            fault := format('has the days %L, which are not as Mon-Fri or Mon,Wed', v_part);
            return;
        end if;
        -- Fri-Mon goes over the end of the week.
        weekdays := weekdays || array(
            select (d - 1) % 7 + 1
            from generate_series(v_first, v_last + case when v_last < v_first then 7 else 0 end) d
        );
    end loop;
    weekdays := array(select distinct d from unnest(weekdays) d order by d);
    for v_first in 2..3 loop
        v_part := coalesce(v_parts[v_first], case v_first when 2 then '00:00' else '24:00' end);
        v_part := regexp_replace(v_part, '^(\d\d?)$', '\1:00');
        if v_part !~ '^\d\d?(:[0-5]\d){1,2}$' or not pg_input_is_valid(v_part, 'time') then
            fault := format('has the time %L, which is not as 09:00', v_part);
            return;
        elsif v_first = 2 then
            hours_from := v_part::time;
        else
            hours_until := coalesce(nullif(v_part::time, '00:00'), '24:00');
        end if;
    end loop;
    if hours_from = '24:00' then
        fault := 'begins at 24:00, which is 00:00 of the next day';
        return;
    end if;
    time_zone := tool_rag._find_zone(v_parts[4]);
    if time_zone is null then
        fault := format(
            'has the time zone %L, which is neither a name as Europe/Berlin nor UTC', v_parts[4]
        );
    end if;
end
$$;
comment on function tool_rag._parse_hours(text) is
'Hours written as "Mon-Fri 09:00-17:00 Europe/Berlin", of which days or hours may be missing, or '
'"always", which leaves all null; fault says what is wrong with them.';

create or replace function tool_rag._read_hours(
    p_hours text, out weekdays int[], out hours_from time, out hours_until time,
    out time_zone text
)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fault text;
begin
    select p.* into weekdays, hours_from, hours_until, time_zone, v_fault
    from tool_rag._parse_hours(p_hours) p;
    if v_fault is not null then
        raise exception 'hours %', v_fault using
            errcode = 'invalid_parameter_value',
            hint = 'Write ''Mon-Fri 09:00-17:00 Europe/Berlin''. Names of time zones: '
                'select name from pg_timezone_names.';
    end if;
end
$$;
comment on function tool_rag._read_hours(text) is 'As _parse_hours; a fault is an error.';

create or replace function tool_rag._write_hours(
    p_weekdays int[], p_from time, p_until time, p_time_zone text
) returns text
language sql immutable parallel safe strict
set search_path = pg_catalog, pg_temp
as $$
    select concat_ws(
        ' ',
        nullif(string_agg(
            concat_ws('-', n.names[r.first], n.names[nullif(r.last, r.first)]), ','
            order by r.first
        ), 'Mon-Sun'),
        case when (p_from, p_until) <> ('00:00', '24:00') or cardinality(p_weekdays) = 7 then
            concat_ws(
                '-', regexp_replace(p_from::text, ':00$', ''),
                regexp_replace(p_until::text, ':00$', '')
            )
        end,
        p_time_zone
    )
    from (
        select min(d.day) as first, max(d.day) as last
        from (
            select u.day, u.day - row_number() over (order by u.day) as run
            from unnest(p_weekdays) u (day)
        ) d
        group by d.run
    ) r
    cross join (values ('{Mon,Tue,Wed,Thu,Fri,Sat,Sun}'::text[])) n (names)
$$;
comment on function tool_rag._write_hours(int[], time, time, text) is
'Hours as a text that _parse_hours reads, always the same for the same hours.';
