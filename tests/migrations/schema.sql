SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA tool_rag;

COMMENT ON SCHEMA tool_rag IS 'Tool retrieval (schema 0010_schedules)';

CREATE FUNCTION tool_rag._access_at(p_time timestamp with time zone) RETURNS TABLE(role text, server text, tool text)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._access_at(p_time timestamp with time zone) IS 'Who might use what at a time, from the audit: the rules that were in force at that very time.';

CREATE FUNCTION tool_rag._access_of(p_login oid) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._access_of(p_login oid) IS 'What a login may do here: superuser, owner, admin, editor or reader; null: nothing, unless by grants of somebody''s own.';

CREATE FUNCTION tool_rag._after_dependency_write() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_dependency_write() IS 'Refuses cycles of dependencies.';

CREATE FUNCTION tool_rag._after_example_delete() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_example_delete() IS 'Takes the vectors of examples away.';

CREATE FUNCTION tool_rag._after_example_write() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_example_write() IS 'Computes the vectors of new examples.';

CREATE FUNCTION tool_rag._after_grant_rule_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_grant_rule_change() IS 'Applies changed rules to the tools that they fit, for their roles and the heirs of these.';

CREATE FUNCTION tool_rag._after_ranking_setting_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_ranking_setting_update() IS 'Indexes the catalogue anew by changed settings.';

CREATE FUNCTION tool_rag._after_role_delete() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_role_delete() IS 'Takes away what removed roles might see.';

CREATE FUNCTION tool_rag._after_role_parent_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_role_parent_change() IS 'Refuses cycles; applies the rules to roles whose parents changed, and to their heirs.';

CREATE FUNCTION tool_rag._after_role_schedule_delete() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_role_schedule_delete() IS 'Takes away what removed schedules had.';

CREATE FUNCTION tool_rag._after_server_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_server_update() IS 'A server''s name is among its tools'' texts and in patterns; its state decides what is seen.';

CREATE FUNCTION tool_rag._after_synonym_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_synonym_change() IS 'Indexes the tools whose synonyms changed; those of terms are read by each search.';

CREATE FUNCTION tool_rag._after_tool_delete() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_tool_delete() IS 'Takes removed tools out of the index; vectors and access go by foreign key.';

CREATE FUNCTION tool_rag._after_tool_insert() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_tool_insert() IS 'Indexes new tools and applies the rules.';

CREATE FUNCTION tool_rag._after_tool_truncate() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_tool_truncate() IS 'Empties the index with the tools.';

CREATE FUNCTION tool_rag._after_tool_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_tool_update() IS 'Indexes tools whose texts changed, and applies the rules where a name or state did.';

CREATE FUNCTION tool_rag._after_wording_truncate() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._after_wording_truncate() IS 'Takes the index of truncated synonyms or examples away.';

CREATE FUNCTION tool_rag._allowed_ids(p_allowed jsonb, p_server_ids integer[]) RETURNS integer[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._allowed_ids(p_allowed jsonb, p_server_ids integer[]) IS 'The enabled tools, not withheld, that {"server": {"tools": ["name", ...]}} lists, of some servers (null: all); "*" as a name stands for all tools of its server.';

CREATE FUNCTION tool_rag._apply_privileges(p_create boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._apply_privileges(p_create boolean) IS 'Gives the group roles tool_rag_reader, tool_rag_editor and tool_rag_admin, which all databases of a server share, exactly what is their own here, and nobody else anything; creates those that are missing, if that is wanted and permitted.';

CREATE FUNCTION tool_rag._audited_key(p_object text, p_row jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE p_object WHEN 'role_parent'::text THEN concat_ws(','::text, (p_row ->> 'role_id'::text), (p_row ->> 'parent_id'::text)) WHEN 'dependency'::text THEN concat_ws(','::text, (p_row ->> 'tool_id'::text), (p_row ->> 'needs_id'::text)) WHEN 'api_key_role'::text THEN concat_ws(','::text, (p_row ->> 'key_id'::text), (p_row ->> 'role_id'::text)) WHEN 'login_role'::text THEN concat_ws(','::text, (p_row ->> 'login_id'::text), (p_row ->> 'role_id'::text)) WHEN 'ranking_setting'::text THEN '1'::text WHEN 'access_setting'::text THEN '1'::text WHEN 'audit_setting'::text THEN '1'::text WHEN 'review_setting'::text THEN '1'::text ELSE (p_row ->> (CASE p_object WHEN 'grant_rule'::text THEN 'grant'::text WHEN 'api_key'::text THEN 'key'::text WHEN 'pending_tool'::text THEN 'pending'::text ELSE p_object END || '_id'::text)) END;

COMMENT ON FUNCTION tool_rag._audited_key(p_object text, p_row jsonb) IS 'The key of a row of an audited table.';

CREATE FUNCTION tool_rag._audited_label(p_object text, p_row jsonb) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._audited_label(p_object text, p_row jsonb) IS 'A row of an audited table in words.';

CREATE FUNCTION tool_rag._audited_row(p_row jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (p_row - ARRAY['created_at'::text, 'updated_at'::text, 'content_hash'::text, 'token_count'::text, 'lexemes'::text, 'term_lexemes'::text, 'singleton'::text, 'digest'::text, 'former_digest'::text, 'last_used_at'::text, 'schedule_id'::text]);

COMMENT ON FUNCTION tool_rag._audited_row(p_row jsonb) IS 'A row without what triggers derive, and without digests of keys.';

CREATE FUNCTION tool_rag._before_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._before_edit() IS 'Orders edits: see _lock_catalogue.';

CREATE FUNCTION tool_rag._before_example_write() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._before_example_write() IS 'Fills the derived column of an example.';

CREATE FUNCTION tool_rag._before_grant_rule_write() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._before_grant_rule_write() IS 'Brings the hours of a rule into one form, and finds or makes its schedule.';

CREATE FUNCTION tool_rag._before_synonym_write() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._before_synonym_write() IS 'Fills the derived column of a synonym.';

CREATE FUNCTION tool_rag._before_tool_write() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._before_tool_write() IS 'Fills the derived columns of a tool.';

CREATE FUNCTION tool_rag._caller(p_roles text[], p_allowed jsonb, p_server_ids integer[], OUT role_ids integer[], OUT gate integer[], OUT named_ids integer[]) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._caller(p_roles text[], p_allowed jsonb, p_server_ids integer[], OUT role_ids integer[], OUT gate integer[], OUT named_ids integer[]) IS 'Who asks. A caller sees what role_ids may see; or, where that alone does not say it, role_ids is empty and gate is the very tools, in order, of the given servers (null: all): what the roles asked, those of the session''s setting and token, and those that the login is bound to all permit, and "allowed" lists. named_ids are the roles whose grants a result names; null where none was asked. Both hold, beside roles, the schedules of theirs that are in force.';

CREATE FUNCTION tool_rag._candidates(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_base double precision, p_slope double precision, p_embedding public.halfvec, p_model_id integer, p_model_vector public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_depth integer, p_exact boolean) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._candidates(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_base double precision, p_slope double precision, p_embedding public.halfvec, p_model_id integer, p_model_vector public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_depth integer, p_exact boolean) IS 'The permitted tools to score: all where they are few, else those that the indexes propose.';

CREATE FUNCTION tool_rag._carry_marks(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._carry_marks(p_text text) IS 'Vowel signs, viramas and tone marks as letters, so that words keep them in any locale.';

CREATE FUNCTION tool_rag._changed_tools(p_server_id integer, p_tools jsonb) RETURNS TABLE(name text, is_new boolean, definition jsonb, hash bytea)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._changed_tools(p_server_id integer, p_tools jsonb) IS 'The tools of an export that the catalogue lacks or has otherwise, each as the version that it would be: what the export says, without what it says nothing of.';

CREATE FUNCTION tool_rag._check_allowed(p_allowed jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._check_allowed(p_allowed jsonb) IS 'Refuses an argument "allowed" of any other shape.';

CREATE FUNCTION tool_rag._check_digest(p_digest bytea) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._check_digest(p_digest bytea) IS 'Raises where a digest is none.';

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE tool_rag.embedding_model (
    model_id integer NOT NULL,
    name text NOT NULL,
    dimensions integer NOT NULL,
    fingerprint text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    query_prompt text DEFAULT ''::text NOT NULL,
    document_prompt text DEFAULT ''::text NOT NULL,
    is_active boolean DEFAULT false NOT NULL,
    CONSTRAINT embedding_model_dimensions_check CHECK (((dimensions >= 1) AND (dimensions <= 4000))),
    CONSTRAINT embedding_model_name_check CHECK (((length(name) >= 1) AND (length(name) <= 256)))
);

COMMENT ON TABLE tool_rag.embedding_model IS 'Models whose vectors this database holds. Number 1 is the built-in one, computed in SQL.';

COMMENT ON COLUMN tool_rag.embedding_model.fingerprint IS 'SHA-256 of the built-in model''s weights as loaded; null until they are.';

COMMENT ON COLUMN tool_rag.embedding_model.query_prompt IS 'What a client puts before a request when it embeds it; document_prompt: before a tool''s text.';

COMMENT ON COLUMN tool_rag.embedding_model.is_active IS 'Whether a search takes a caller''s vector for one of this model, where the caller names none.';

CREATE FUNCTION tool_rag._check_embedding(p_embedding public.vector, p_model text, OUT model tool_rag.embedding_model, OUT vector public.halfvec) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._check_embedding(p_embedding public.vector, p_model text, OUT model tool_rag.embedding_model, OUT vector public.halfvec) IS 'A caller''s vector at length 1 and the model it is of: the one named, else the one in use; or an error where it can''t be one of that model.';

CREATE FUNCTION tool_rag._check_rules(p_rules jsonb) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._check_rules(p_rules jsonb) IS 'Refuses rules that store_rules can''t store, and names the first.';

CREATE FUNCTION tool_rag._check_search(p_query text, p_k integer, p_context text[], p_token_budget integer, p_min_relevance double precision, p_options jsonb) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._check_search(p_query text, p_k integer, p_context text[], p_token_budget integer, p_min_relevance double precision, p_options jsonb) IS 'Refuses arguments of a search that can''t be meant, each with a hint.';

CREATE FUNCTION tool_rag._check_unbound() RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._check_unbound() IS 'True, or an error for a bound login: called by what shows or edits more than one''s own tools.';

CREATE FUNCTION tool_rag._common_tools(p_groups text[], p_allowed jsonb, p_server_ids integer[]) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._common_tools(p_groups text[], p_allowed jsonb, p_server_ids integer[]) IS 'The tools, in order, that each of several groups of roles (arrays as text) may see now, that "allowed" lists, and that are of some servers; null leaves out either of the last two.';

CREATE FUNCTION tool_rag._content_hash(p_title text, p_description text, p_input_schema jsonb, p_output_schema jsonb, p_annotations jsonb) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(convert_to((jsonb_build_array(p_title, p_description, p_input_schema, p_output_schema, p_annotations))::text, 'UTF8'::name));

COMMENT ON FUNCTION tool_rag._content_hash(p_title text, p_description text, p_input_schema jsonb, p_output_schema jsonb, p_annotations jsonb) IS 'SHA-256 of a definition; jsonb''s text form is canonical.';

CREATE FUNCTION tool_rag._descendants(p_role_ids integer[]) RETURNS integer[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._descendants(p_role_ids integer[]) IS 'Roles and all that inherit from them.';

CREATE FUNCTION tool_rag._drop_groups(p_login oid, p_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._drop_groups(p_login oid, p_name text) IS 'Takes a login out of the three groups, whoever put it there.';

CREATE FUNCTION tool_rag._embed_wording(p_text text) RETURNS public.halfvec
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._embed_wording(p_text text) IS 'The vector of a synonym line or an example, as long as a definition''s can be.';

CREATE FUNCTION tool_rag._estimate_tokens(p_name text, p_description text, p_input_schema jsonb) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._estimate_tokens(p_name text, p_description text, p_input_schema jsonb) IS 'Estimated tokens of a definition (name, description, schema) in a model''s prompt: words, digits, runs of punctuation and characters beyond ASCII, weighted.';

CREATE FUNCTION tool_rag._expand_access(p_role_ids integer[], p_tool_ids integer[]) RETURNS TABLE(role_id integer, tool_id integer, server_id integer, grant_id integer, allow_until timestamp with time zone, deny_until timestamp with time zone)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._expand_access(p_role_ids integer[], p_tool_ids integer[]) IS 'What role_tool holds, computed from the rules, for some roles, with their schedules, and tools (null: all).';

CREATE FUNCTION tool_rag._expand_needs(p_tool_ids integer[], p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_depth integer) RETURNS TABLE(tool_id integer, needed_by integer, reason text, depth integer)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._expand_needs(p_tool_ids integer[], p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_depth integer) IS 'What tools need beyond themselves, down to a depth, as far as the caller may see it.';

CREATE FUNCTION tool_rag._explain_hits(p_tool_ids integer[], p_needed_by integer[], p_needs text[], p_turns integer[], p_sent_places integer[], p_scores double precision[], p_relevances double precision[], p_requests integer[], p_word_places integer[], p_word_scores double precision[], p_meaning_places integer[], p_model_places integer[], p_model_scores double precision[], p_model text, p_kept integer[], p_texts text[], p_kinds text[], p_vectors public.halfvec[], p_expansions text[], p_lexeme_ids integer[], p_words text[], p_word_requests integer[], p_terms text[], p_term_requests integer[], p_role_ids integer[], p_gate integer[]) RETURNS TABLE(place bigint, sent_place integer, server text, name text, title text, description text, input_schema jsonb, is_action boolean, relevance real, score real, tokens integer, reason text, explain jsonb)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._explain_hits(p_tool_ids integer[], p_needed_by integer[], p_needs text[], p_turns integer[], p_sent_places integer[], p_scores double precision[], p_relevances double precision[], p_requests integer[], p_word_places integer[], p_word_scores double precision[], p_meaning_places integer[], p_model_places integer[], p_model_scores double precision[], p_model text, p_kept integer[], p_texts text[], p_kinds text[], p_vectors public.halfvec[], p_expansions text[], p_lexeme_ids integer[], p_words text[], p_word_requests integer[], p_terms text[], p_term_requests integer[], p_role_ids integer[], p_gate integer[]) IS 'The rows of a shortlist, with the reasons why each tool is on it.';

CREATE FUNCTION tool_rag._find_called(p_servers text[], p_tools text[], p_roles text[], p_allowed jsonb) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_called(p_servers text[], p_tools text[], p_roles text[], p_allowed jsonb) IS 'The tools that a caller names, or an error that names no other tool: a model wrote the names.';

CREATE FUNCTION tool_rag._find_companions(p_tool_ids integer[], p_conversation text, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_options jsonb, OUT tool_ids integer[], OUT needed_by integer[], OUT needs text[], OUT turns integer[], OUT sent_places integer[]) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_companions(p_tool_ids integer[], p_conversation text, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_options jsonb, OUT tool_ids integer[], OUT needed_by integer[], OUT needs text[], OUT turns integer[], OUT sent_places integer[]) IS 'What comes on top of the best tools: what they need, tools that the conversation uses with what they need, and with "keep_order" those it was sent. The other arrays begin with the best ones.';

CREATE FUNCTION tool_rag._find_flaws(p_server text, p_changed jsonb) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_flaws(p_server text, p_changed jsonb) IS 'What the linter finds in versions, by the name of the tool.';

CREATE FUNCTION tool_rag._find_key(p_name text) RETURNS integer
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_key(p_name text) IS 'A key''s number, or an error.';

CREATE FUNCTION tool_rag._find_login(p_name text) RETURNS oid
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_login(p_name text) IS 'A login''s number, or an error that says how to make it.';

CREATE FUNCTION tool_rag._find_model(p_name text) RETURNS tool_rag.embedding_model
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_model(p_name text) IS 'A model by name, or an error that names them all.';

CREATE FUNCTION tool_rag._find_named(p_text text, p_tool_ids integer[], p_mode text) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_named(p_text text, p_tool_ids integer[], p_mode text) IS 'Which of some ranked tools a text names: by their whole identifier (exact), or by 60% of the words of more than three letters in names that have two, give or take a typo (words).';

CREATE FUNCTION tool_rag._find_places(p_role text, p_server_id integer, p_names text[], p_requests text[]) RETURNS TABLE(request bigint, tool_id integer, place integer)
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_places(p_role text, p_server_id integer, p_names text[], p_requests text[]) IS 'Where some tools of a server stand among the first five for requests of a role; null is none.';

CREATE FUNCTION tool_rag._find_role(p_name text) RETURNS integer
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_role(p_name text) IS 'A role''s id, or an error that says how to make it.';

CREATE FUNCTION tool_rag._find_tool(p_server text, p_tool text) RETURNS integer
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_tool(p_server text, p_tool text) IS 'A tool''s id, or an error that names the nearest ones. For admins: it tells what exists.';

CREATE FUNCTION tool_rag._find_visible(p_servers text[], p_tools text[], p_role_ids integer[], p_gate integer[]) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_visible(p_servers text[], p_tools text[], p_role_ids integer[], p_gate integer[]) IS 'The tools of some names, null for each that a caller (see _caller) may not see: for one that is hidden by the same steps as for one that does not exist.';

CREATE FUNCTION tool_rag._find_winners(p_server_id integer, p_changed jsonb, p_findings jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._find_winners(p_server_id integer, p_changed jsonb, p_findings jsonb) IS 'A finding for each version that would suddenly come first for many requests of other tools.';

CREATE FUNCTION tool_rag._find_zone(p_name text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._find_zone(p_name text) IS 'The name of a time zone as it is usually written; null where there is none, or an abbreviation.';

CREATE FUNCTION tool_rag._fit_budget(p_tool_ids integer[], p_needed_by integer[], p_budget integer) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._fit_budget(p_tool_ids integer[], p_needed_by integer[], p_budget integer) IS 'Of tools in order those that fit a number of tokens, each with what it needs; the first always.';

CREATE FUNCTION tool_rag._fold_marks(p_text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._fold_marks(p_text text) IS 'Text in NFD without non-spacing marks (category Mn): "é" becomes "e".';

CREATE FUNCTION tool_rag._fold_name(p_name text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._fold_name(p_name text) IS 'A name without case, accents and separators: createPullRequest, create-pull-request -> createpullrequest. One that has nothing else stays as it is.';

CREATE FUNCTION tool_rag._groups_of(p_login oid) RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._groups_of(p_login oid) IS 'The groups of readers, editors and admins that a login is in by itself.';

CREATE FUNCTION tool_rag._held_roles(p_role_ids integer[]) RETURNS integer[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._held_roles(p_role_ids integer[]) IS 'Roles and all that they inherit from.';

CREATE FUNCTION tool_rag._identifier_words(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(regexp_replace(regexp_replace(p_text, '([a-z0-9])([A-Z])'::text, '\1 \2'::text, 'g'::text), '([A-Z])([A-Z][a-z])'::text, '\1 \2'::text, 'g'::text), '[_./:#-]+'::text, ' '::text, 'g'::text);

COMMENT ON FUNCTION tool_rag._identifier_words(p_text text) IS 'An identifier as words: getUserInfo, get_user.info -> get User Info, get user info.';

CREATE FUNCTION tool_rag._index_examples(p_example_ids integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._index_examples(p_example_ids integer[]) IS 'Computes the vectors of examples anew.';

CREATE FUNCTION tool_rag._index_lexemes(p_tool_ids integer[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._index_lexemes(p_tool_ids integer[]) IS 'Writes the postings and lengths of tools that have none, and adds them to the statistics.';

CREATE FUNCTION tool_rag._index_names(p_tool_ids integer[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._index_names(p_tool_ids integer[]) IS 'Folds the names of tools anew.';

CREATE FUNCTION tool_rag._index_tools(p_tool_ids integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._index_tools(p_tool_ids integer[]) IS 'Indexes tools anew, in whatever state they are.';

CREATE FUNCTION tool_rag._index_vectors(p_tool_ids integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._index_vectors(p_tool_ids integer[]) IS 'Computes the built-in model''s vectors of tools anew.';

CREATE FUNCTION tool_rag._is_action(p_annotations jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((p_annotations -> 'readOnlyHint'::text) IS DISTINCT FROM 'true'::jsonb) OR (NOT ((p_annotations -> 'destructiveHint'::text) IS DISTINCT FROM 'true'::jsonb)));

COMMENT ON FUNCTION tool_rag._is_action(p_annotations jsonb) IS 'Whether MCP annotations make a tool an action: all but what is declared read-only, as the protocol''s defaults have it.';

CREATE FUNCTION tool_rag._is_ascii(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (p_text !~ '[^\u0001-\u007f]'::text);

COMMENT ON FUNCTION tool_rag._is_ascii(p_text text) IS 'Whether a text is plain ASCII.';

CREATE FUNCTION tool_rag._is_identifier(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (p_text ~ '[[:alnum:]][_.-][[:alpha:]]|[[:lower:]][[:upper:]]'::text);

COMMENT ON FUNCTION tool_rag._is_identifier(p_text text) IS 'Whether a text is, or holds, what looks like a name rather than a word: create_issue, getUser, a.b.';

CREATE TABLE tool_rag.grant_rule (
    grant_id integer NOT NULL,
    role_id integer NOT NULL,
    server_pattern text NOT NULL,
    tool_pattern text NOT NULL,
    effect text DEFAULT 'allow'::text NOT NULL,
    valid_until timestamp with time zone DEFAULT 'infinity'::timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    valid_from timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    weekdays integer[],
    hours_from time(0) without time zone,
    hours_until time(0) without time zone,
    time_zone text,
    schedule_id integer,
    CONSTRAINT grant_rule_effect_check CHECK ((effect = ANY (ARRAY['allow'::text, 'deny'::text]))),
    CONSTRAINT grant_rule_hours_check CHECK ((num_nulls(weekdays, hours_from, hours_until, time_zone) = ANY (ARRAY[0, 4]))),
    CONSTRAINT grant_rule_hours_from_check CHECK ((hours_from < '24:00:00'::time without time zone)),
    CONSTRAINT grant_rule_server_pattern_check CHECK (((server_pattern <> ''::text) AND (length(server_pattern) <= 256) AND (server_pattern !~ '/'::text))),
    CONSTRAINT grant_rule_tool_pattern_check CHECK (((tool_pattern <> ''::text) AND (length(tool_pattern) <= 256))),
    CONSTRAINT grant_rule_weekdays_check CHECK (((weekdays <@ '{1,2,3,4,5,6,7}'::integer[]) AND (cardinality(weekdays) > 0)))
);

COMMENT ON TABLE tool_rag.grant_rule IS 'Rules on tools by pattern, "*" being any run of characters. A tool is permitted while at least one allow that the caller''s roles hold is valid and no deny that they hold is.';

COMMENT ON COLUMN tool_rag.grant_rule.valid_until IS 'End of validity, compared with the time of the search: expiry needs no job.';

COMMENT ON COLUMN tool_rag.grant_rule.valid_from IS 'Beginning of validity, likewise; -infinity for none.';

COMMENT ON COLUMN tool_rag.grant_rule.weekdays IS 'Days on which its hours begin, as ISO 8601 counts them: 1 is Monday, 7 Sunday. Null, as the three columns that follow: it holds at all hours.';

COMMENT ON COLUMN tool_rag.grant_rule.hours_from IS 'When it begins to hold on these days.';

COMMENT ON COLUMN tool_rag.grant_rule.hours_until IS 'When it ceases to. Not later than hours_from: on the day after.';

COMMENT ON COLUMN tool_rag.grant_rule.time_zone IS 'Whose clock that is: a name of pg_timezone_names with a "/", or UTC.';

COMMENT ON COLUMN tool_rag.grant_rule.schedule_id IS 'Filled by trigger: where it has a beginning or hours, the row of role_schedule with these.';

CREATE FUNCTION tool_rag._is_in_force(p_rule tool_rag.grant_rule, p_time timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._is_in_force(p_rule tool_rag.grant_rule, p_time timestamp with time zone) IS 'Whether a rule holds at a time. Of hours that can''t be read, an allow does not and a deny does.';

CREATE FUNCTION tool_rag._is_in_hours(p_time timestamp with time zone, p_weekdays integer[], p_from time without time zone, p_until time without time zone, p_time_zone text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._is_in_hours(p_time timestamp with time zone, p_weekdays integer[], p_from time without time zone, p_until time without time zone, p_time_zone text) IS 'Whether a clock in a time zone shows hours of some weekdays at a time: an hour that the clock skips is not there, one that it shows twice is there twice. Null where the zone is not known.';

CREATE FUNCTION tool_rag._is_respelling(p_name text, p_tool text, p_server text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._is_respelling(p_name text, p_tool text, p_server text) IS 'Whether a name may be meant for a tool''s: the words that differ are the same but for their spelling, begin with the same letter and have the same digits, and what was written is no word itself. So get is no misspelt set, change no charge, v1 no v2.';

CREATE TABLE tool_rag.access_setting (
    singleton boolean DEFAULT true NOT NULL,
    roles_claim text[] DEFAULT '{roles}'::text[],
    strict_statistics boolean DEFAULT false NOT NULL,
    CONSTRAINT access_setting_roles_claim_check CHECK (((cardinality(roles_claim) > 0) AND (array_position(roles_claim, NULL::text) IS NULL) AND (roles_claim[1] <> ALL (ARRAY['user_metadata'::text, 'raw_user_meta_data'::text])))),
    CONSTRAINT access_setting_singleton_check CHECK (singleton)
);

COMMENT ON TABLE tool_rag.access_setting IS 'One row of settings about who asks.';

COMMENT ON COLUMN tool_rag.access_setting.roles_claim IS 'Where request.jwt.claims has the roles, as a path of keys; null: nowhere. Never in what users may edit themselves, as Supabase''s user_metadata.';

COMMENT ON COLUMN tool_rag.access_setting.strict_statistics IS 'Whether every search counts words in the tools that its caller may see and in no other, whatever its option "statistics" says.';

CREATE FUNCTION tool_rag._is_strict() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((SELECT s.strict_statistics FROM tool_rag.access_setting s), true);

COMMENT ON FUNCTION tool_rag._is_strict() IS 'Whether every search counts words in the tools that its caller may see and in no other.';

CREATE FUNCTION tool_rag._is_visible(p_tool_id integer, p_role_ids integer[], p_server_ids integer[], p_gate integer[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._is_visible(p_tool_id integer, p_role_ids integer[], p_server_ids integer[], p_gate integer[]) IS 'Whether a caller (see _caller) may see one tool now.';

CREATE FUNCTION tool_rag._is_within(p_role_ids integer[], p_bound_ids integer[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._is_within(p_role_ids integer[], p_bound_ids integer[]) IS 'Whether roles see no more than others do by their rules alone, whatever the tools and the time: they are among these, which hold no further deny, of any schedule.';

CREATE FUNCTION tool_rag._judge_access(p_role_ids integer[], p_tool_id integer) RETURNS TABLE(role_id integer, permitted boolean, reason text)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._judge_access(p_role_ids integer[], p_tool_id integer) IS 'What explain_access says of a tool to some roles (null: all), every rule being read once.';

CREATE FUNCTION tool_rag._known_requests(p_max integer) RETURNS TABLE(request text, tool_ids integer[])
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._known_requests(p_max integer) IS 'Requests with the tools that serve them, the newest first: those of the examples.';

CREATE FUNCTION tool_rag._label_of(p_object text, p_id text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._label_of(p_object text, p_id text) IS 'What a server, role, login, key or tool is called, or was before it went.';

CREATE FUNCTION tool_rag._lexical_text(p_text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._lexical_text(p_text text) IS 'A text made ready for to_tsvector in any locale: identifiers split, case and accents folded, punctuation out, unspaced scripts as characters and pairs.';

CREATE FUNCTION tool_rag._lint_export(p_server text, p_tools jsonb) RETURNS TABLE(name text, rule text, severity text, field text, place integer, excerpt text)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._lint_export(p_server text, p_tools jsonb) IS 'All that the linter finds in tools of a server, the gravest of each tool first.';

CREATE FUNCTION tool_rag._lint_names(p_server text, p_tools jsonb) RETURNS TABLE(name text, rule text, severity text, field text, place integer, excerpt text)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET jit TO 'off'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._lint_names(p_server text, p_tools jsonb) IS 'What the tools of a server have to do with those of others: names that look like theirs, copies, and texts that say when not to use them. Null: of no server.';

CREATE TABLE tool_rag.review_setting (
    singleton boolean DEFAULT true NOT NULL,
    review_policy text DEFAULT 'trust'::text NOT NULL,
    lint_policy text DEFAULT 'quarantine'::text NOT NULL,
    known_requests integer DEFAULT 100 NOT NULL,
    won_requests integer DEFAULT 5 NOT NULL,
    CONSTRAINT review_setting_known_requests_check CHECK (((known_requests >= 0) AND (known_requests <= 10000))),
    CONSTRAINT review_setting_lint_policy_check CHECK ((lint_policy = ANY (ARRAY['report'::text, 'quarantine'::text]))),
    CONSTRAINT review_setting_review_policy_check CHECK ((review_policy = ANY (ARRAY['trust'::text, 'review'::text, 'withhold'::text, 'refuse'::text]))),
    CONSTRAINT review_setting_singleton_check CHECK (singleton),
    CONSTRAINT review_setting_won_requests_check CHECK ((won_requests > 0))
);

COMMENT ON TABLE tool_rag.review_setting IS 'One row: the policies of servers that have none of their own, and how new versions are tried.';

COMMENT ON COLUMN tool_rag.review_setting.known_requests IS 'So many known requests at most, the newest, are tried with a version that is new.';

COMMENT ON COLUMN tool_rag.review_setting.won_requests IS 'A version that would come first for so many requests of other tools is flagged.';

CREATE TABLE tool_rag.server (
    server_id integer NOT NULL,
    name text NOT NULL,
    title text,
    description text,
    enabled boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    review_policy text,
    lint_policy text,
    CONSTRAINT server_lint_policy_check CHECK ((lint_policy = ANY (ARRAY['report'::text, 'quarantine'::text]))),
    CONSTRAINT server_name_check CHECK (((name <> ''::text) AND (length(name) <= 256) AND (name !~ '[/*]'::text))),
    CONSTRAINT server_review_policy_check CHECK ((review_policy = ANY (ARRAY['trust'::text, 'review'::text, 'withhold'::text, 'refuse'::text])))
);

COMMENT ON TABLE tool_rag.server IS 'A source of tools: an MCP server, an API, or one export of function definitions.';

COMMENT ON COLUMN tool_rag.server.name IS 'What patterns and results call it; without "/" and "*", which patterns use.';

COMMENT ON COLUMN tool_rag.server.enabled IS 'False hides all its tools from every role, without losing grants or index.';

COMMENT ON COLUMN tool_rag.server.review_policy IS 'What becomes of a tool that an export brings anew or changed: trust (it serves), review (it waits, the old version serves), withhold (it waits, nothing serves) or refuse (the old version stays). Null: that of review_setting.';

COMMENT ON COLUMN tool_rag.server.lint_policy IS 'What becomes of a version of a trusted server that the linter flags as high: quarantine (it waits) or report (it serves). Null: that of review_setting.';

CREATE FUNCTION tool_rag._lint_policy(p_server tool_rag.server) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((p_server).lint_policy, (SELECT r.lint_policy FROM tool_rag.review_setting r));

COMMENT ON FUNCTION tool_rag._lint_policy(p_server tool_rag.server) IS 'What becomes of flagged versions of a trusted server.';

CREATE FUNCTION tool_rag._lint_rules() RETURNS TABLE(rule text, severity text, on_characters boolean, hint text, pattern text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._lint_rules() IS 'The rules on texts: what makes a finding, and how grave it is.';

CREATE FUNCTION tool_rag._lint_texts(p_tools jsonb) RETURNS TABLE(name text, rule text, severity text, field text, place integer, excerpt text)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._lint_texts(p_tools jsonb) IS 'What the rules on texts find in the tools of an export. A place counts characters from 1, in the text without hidden characters where the rule is on words.';

CREATE FUNCTION tool_rag._lock_catalogue() RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._lock_catalogue() IS 'Lets one transaction at a time edit catalogue or access, until it ends. Searches never wait.';

CREATE FUNCTION tool_rag._lower(p_text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._lower(p_text text) IS 'Lower case by Unicode''s simple mapping, for text in NFD, in any locale.';

CREATE FUNCTION tool_rag._marks() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'ܑܱܴܷܸܹܻܼܾ݂݄݆݈҃҄҅҆҇ܰܲܳܵܶܺܽܿ݀݁݃݅݇݉݊ަާިީުޫެޭޮޯްࣰࣱࣲ߲߽࡙࡚࡛࢙࢚࢛࣏࣐࣑࣒࣓ࣣࣦࣩ࣭࣮࣯ࣶࣹࣺ߫߬߭߮߯߰߱߳ࠖࠗ࠘࠙ࠛࠜࠝࠞࠟࠠࠡࠢࠣࠥࠦࠧࠩࠪࠫࠬ࠭࢘࢜࢝࢞࢟࣊࣋࣌࣍࣎ࣔࣕࣖࣗࣘࣙࣚࣛࣜࣝࣞࣟ࣠࣡ࣤࣥࣧࣨ࣪࣫࣬ࣳࣴࣵࣷࣸࣻࣼࣽࣾࣿऀँंऺ़ुूृॄॅॆेै्॒॑॓॔ॕॖॗॢॣঁ়ুূৃৄ্ৢৣ৾ਁਂ਼ੁੂੇੈੋੌ੍ੑੰੱੵઁં઼ુૂૃૄૅેૈ્ૢૣૺૻૼ૽૾૿ଁ଼ିୁୂୃୄ୍୕ୖୢୣஂீ்ఀఄ఼ాిీెేైొోౌ్ౕౖౢౣಁ಼ಿೆೌ್ೢೣഀഁ഻഼ുൂൃൄ്ൢൣඁ්ිීුූัิีึืฺุู็่้๊๋์ํ๎ັິີຶື຺ຸູົຼ່້໊໋໌ໍཱཱཱིིུུ༹༘༙༵༷ྲྀཷླྀཹེཻོཽཾ྄ཱྀྀྂྃ྆྇ྍྎྏྐྑྒྒྷྔྕྖྗྙྚྛྜྜྷྞྟྠྡྡྷྣྤྥྦྦྷྨྩྪྫྫྷྭྮྯྰྱྲླྴྵྶྷྸྐྵྺྻྼ࿆ိီုူဲဳဴဵံ့္်ွှၘၙၞၟၠၱၲၳၴႂႅႆႍႝ፝፞፟ᜒᜓ᜔ᜲᜳᝒᝓᝲᝳ឴឵ិីឹឺុូួំ៉៊់៌៍៎៏័៑្៓៝᠋᠌᠍᠏ᢅᢆᢩᤠᤡᤢᤧᤨᤲ᤻ᨘ᤹᤺ᨗᨛᩖᩘᩙᩚᩛᩜᩝᩞ᩠ᩢᩥᩦᩧᩨᩩᩪᩫᩬᩳᩴ᩿᩵᩶᩷᩸᩹᩺᩻᩼ᬀᬁᬂᬃ᬴ᬶᬷᬸᬹᬺᬼᭂ᭬᭫᭭᭮᭯᭰᭱᭲᭳ᮀᮁᮢᮣᮤᮥᮨᮩ᮫ᮬᮭ᯦ᯨᯩᯭᯯᯰᯱᰬᰭᰮᰯᰰᰱᰲᰳᰶ᳔᳢᳣᳤᳥᳦᳧᳨᰷⵿〪᳕᳖᳗᳘᳙᳜᳝᳞᳟᳭〭〫᳐᳑᳒᳚᳛᳠᳴᳸᳹⳯⳰⳱ⷠⷡⷢⷣⷤⷥⷦⷧⷨⷩⷪⷫⷬⷭⷮⷯⷰⷱⷲⷳⷴⷵⷶⷷⷸⷹⷺⷻⷼⷽⷾⷿ꙯ꙴꙵꙶꙷꙸꙹꙺꙻ꙼꙽ꚞꚟ꛰꛱〬ꠂ꠆ꠋꠥꠦ꠬꣄ꣅ꣠꣡꣢꣣꣤꣥꣦꣧꣨꣩꣪꣫꣬꣭꣮꣯꣰꣱ꣿꤦꤧꤨꤩꤪ꤫꤬꤭ꥇꥈꥉꥊꥋꥌꥍꥎꥏꥐꥑꦀꦁꦂ꦳ꦶꦷꦸꦹꦼꦽꧥꨩꨪꨫꨬꨭꨮꨱꨲꨵꨶꩃꩌꩼꪴꪰꪲꪳꪷꪸꪾ꪿꫁ꫬꫭ꫶ꯥꯨ꯭ﬞ'::text;

COMMENT ON FUNCTION tool_rag._marks() IS 'Vowel signs, viramas and tone marks.';

CREATE FUNCTION tool_rag._match_tools(p_server_patterns text[], p_tool_patterns text[], p_tool_ids integer[]) RETURNS TABLE(rule bigint, server_id integer, tool_id integer)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._match_tools(p_server_patterns text[], p_tool_patterns text[], p_tool_ids integer[]) IS 'Which enabled tools that are not withheld (of some; null: of all) fit which pairs of patterns, these by their position.';

CREATE FUNCTION tool_rag._matches(p_pattern text, p_name text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (p_name ~~ replace(replace(replace(replace(p_pattern, '\'::text, '\\'::text), '%'::text, '\%'::text), '_'::text, '\_'::text), '*'::text, '%'::text));

COMMENT ON FUNCTION tool_rag._matches(p_pattern text, p_name text) IS 'Whether a name fits a pattern in which "*" is any run of characters and all else itself.';

CREATE FUNCTION tool_rag._merge_ranks(p_kinds text[], p_weights double precision[], p_requests integer[], p_tool_ids integer[], p_scores double precision[], p_relevances double precision[], p_named integer[], p_k integer, p_min_relevance double precision, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT requests integer[]) RETURNS record
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._merge_ranks(p_kinds text[], p_weights double precision[], p_requests integer[], p_tool_ids integer[], p_scores double precision[], p_relevances double precision[], p_named integer[], p_k integer, p_min_relevance double precision, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT requests integer[]) IS 'One list of several: that of the whole request, of its parts, and of earlier messages, each with a weight; the best of each part is kept, and tools that are named go first.';

CREATE FUNCTION tool_rag._name_signature(p_folded text) RETURNS bit
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._name_signature(p_folded text) IS 'The pairs of neighbouring characters of a folded name, its ends included, as bits. What two names have in common is then a count of bits.';

CREATE FUNCTION tool_rag._name_words(p_name text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._name_words(p_name text) IS 'The words of a name, folded as _fold_name does.';

CREATE FUNCTION tool_rag._near_names(p_folded text, p_role_ids integer[], p_server_ids integer[], p_gate integer[]) RETURNS TABLE(tool_id integer, similarity double precision)
    LANGUAGE plpgsql STABLE ROWS 100 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._near_names(p_folded text, p_role_ids integer[], p_server_ids integer[], p_gate integer[]) IS 'Tools with a name that may be like a folded one, and how similar it is, among those that roles may see (null: all tools, for admins) of some servers (null: all), or in a gate (see _caller). Those that share most pairs of characters are compared exactly.';

CREATE FUNCTION tool_rag._nearest_tools(p_server text, p_tool text, p_limit integer) RETURNS TABLE(name text, place bigint)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._nearest_tools(p_server text, p_tool text, p_limit integer) IS 'Tools whose names are most like a name that no tool has.';

CREATE FUNCTION tool_rag._needs(p_tool_ids integer[]) RETURNS integer[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._needs(p_tool_ids integer[]) IS 'Tools and all that they need, directly or not.';

CREATE FUNCTION tool_rag._parse_hours(p_hours text, OUT weekdays integer[], OUT hours_from time without time zone, OUT hours_until time without time zone, OUT time_zone text, OUT fault text) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._parse_hours(p_hours text, OUT weekdays integer[], OUT hours_from time without time zone, OUT hours_until time without time zone, OUT time_zone text, OUT fault text) IS 'Hours written as "Mon-Fri 09:00-17:00 Europe/Berlin", of which days or hours may be missing, or "always", which leaves all null; fault says what is wrong with them.';

CREATE FUNCTION tool_rag._parse_parameter(p_name text, p_own text[], OUT kind text, OUT noun text[]) RETURNS record
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._parse_parameter(p_name text, p_own text[], OUT kind text, OUT noun text[]) IS 'What a parameter or a property names: order_id an order, id what its own tool is about.';

CREATE FUNCTION tool_rag._parse_tool_name(p_name text, p_server text, OUT verb text, OUT noun text[], OUT area text[], OUT is_lookup boolean, OUT is_many boolean) RETURNS record
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._parse_tool_name(p_name text, p_server text, OUT verb text, OUT noun text[], OUT area text[], OUT is_lookup boolean, OUT is_many boolean) IS 'What a tool does to what, by its name: list_open_orders_of_shop is the verb list on the noun order in the area shop, a lookup that yields many.';

CREATE FUNCTION tool_rag._permitted(p_role_ids integer[], p_server_ids integer[]) RETURNS TABLE(tool_id integer, grant_id integer)
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._permitted(p_role_ids integer[], p_server_ids integer[]) IS 'The tools that roles together may see now, of some servers (null: all), each with a grant: an allow of any role holds and a deny of none does. Without a SET clause so that it is inlined; every name in it is qualified or of pg_catalog.';

CREATE FUNCTION tool_rag._pick_pending(p_server_pattern text, p_tool_pattern text, p_hashes text[]) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._pick_pending(p_server_pattern text, p_tool_pattern text, p_hashes text[]) IS 'The versions that two patterns name: those that wait, or those of some hashes, all of which must be there.';

CREATE FUNCTION tool_rag._plain_letters(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(NORMALIZE(p_text, NFKC), 'авгеснкмортухіјѕԁһӏԛԝпѡьѵґєѐиэαβγεηικμνορστυχωϲϳϱϰոօսհցյղզաıɩɪȷɡɢɑʟʀƒɴɓɗɦŧłøđħᴀʙᴄᴅᴇʜᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡʏᴢɛʋʃꞁǀABCDEFGHIJKLMNOPQRSTUVWXYZ'::text, 'abrechkmoptyxijsdhlqwnwbvreeueabyenikuvopotuxwcjpknouhgjnqwiiijggalrfnbdhtlodhabcdehjkmopstuvwyzeufllabcdefghijklmnopqrstuvwxyz'::text);

COMMENT ON FUNCTION tool_rag._plain_letters(p_text text) IS 'Text in NFKC with letters that look like those of ASCII made these, and ASCII in lower case.';

CREATE FUNCTION tool_rag._plan_request(p_query text, p_context text[], p_options jsonb, OUT texts text[], OUT kinds text[]) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._plan_request(p_query text, p_context text[], p_options jsonb, OUT texts text[], OUT kinds text[]) IS 'What a search ranks: the whole request, its parts where it has several, and the last earlier messages, the latest first; each with its kind (whole, part or context).';

CREATE FUNCTION tool_rag._propose_by_model(p_embedding public.halfvec, p_model_id integer, p_role_ids integer[], p_server_ids integer[], p_limit integer) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET "hnsw.ef_search" TO '250'
    SET "hnsw.iterative_scan" TO 'strict_order'
    SET "hnsw.max_scan_tuples" TO '40000'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._propose_by_model(p_embedding public.halfvec, p_model_id integer, p_role_ids integer[], p_server_ids integer[], p_limit integer) IS 'Permitted tools nearest by another model, for a caller who sees many.';

CREATE FUNCTION tool_rag._propose_by_vector(p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_limit integer) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET "hnsw.ef_search" TO '250'
    SET "hnsw.iterative_scan" TO 'strict_order'
    SET "hnsw.max_scan_tuples" TO '40000'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._propose_by_vector(p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_limit integer) IS 'Permitted tools nearest by the built-in model, for a caller who sees many: by definition, then by synonyms and examples; HNSW, scanned on until enough are found.';

CREATE FUNCTION tool_rag._propose_by_words(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_base double precision, p_slope double precision, p_role_ids integer[], p_server_ids integer[], p_limit integer) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._propose_by_words(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_base double precision, p_slope double precision, p_role_ids integer[], p_server_ids integer[], p_limit integer) IS 'Permitted tools whose words promise most, for a caller who sees many.';

CREATE FUNCTION tool_rag._query_terms(p_text text) RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._query_terms(p_text text) IS 'The distinct lexemes of a text.';

CREATE FUNCTION tool_rag._rank_plan(p_texts text[], p_kinds text[], p_model_id integer, p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_k integer, p_min_relevance double precision, p_options jsonb, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT requests integer[], OUT word_places integer[], OUT word_scores double precision[], OUT meaning_places integer[], OUT model_places integer[], OUT model_scores double precision[], OUT vectors public.halfvec[], OUT expansions text[], OUT lexeme_ids integer[], OUT words text[], OUT word_requests integer[], OUT terms text[], OUT term_requests integer[]) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._rank_plan(p_texts text[], p_kinds text[], p_model_id integer, p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_k integer, p_min_relevance double precision, p_options jsonb, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT requests integer[], OUT word_places integer[], OUT word_scores double precision[], OUT meaning_places integer[], OUT model_places integer[], OUT model_scores double precision[], OUT vectors public.halfvec[], OUT expansions text[], OUT lexeme_ids integer[], OUT words text[], OUT word_requests integer[], OUT terms text[], OUT term_requests integer[]) IS 'The k best tools for the texts of a plan, and by which text each is there; and the lexemes and vectors of all texts, to explain it by.';

CREATE FUNCTION tool_rag._rank_request(p_text text, p_model_id integer, p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_limit integer, p_depth integer, p_options jsonb, OUT lexeme_ids integer[], OUT words text[], OUT terms text[], OUT expansion text, OUT vector public.halfvec, OUT word_count integer, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT word_places integer[], OUT word_scores double precision[], OUT meaning_places integer[], OUT model_places integer[], OUT model_scores double precision[], OUT similarity double precision) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._rank_request(p_text text, p_model_id integer, p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_limit integer, p_depth integer, p_options jsonb, OUT lexeme_ids integer[], OUT words text[], OUT terms text[], OUT expansion text, OUT vector public.halfvec, OUT word_count integer, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT word_places integer[], OUT word_scores double precision[], OUT meaning_places integer[], OUT model_places integer[], OUT model_scores double precision[], OUT similarity double precision) IS 'The permitted tools that serve one text best, by all arms: in order, with fused scores, relevance and what each arm said; and the text''s lexemes and vector. Everything is null where nothing is permitted or nothing ranks.';

CREATE FUNCTION tool_rag._rank_vectors(p_embedding public.halfvec, p_model_id integer, p_tool_ids integer[], p_limit integer) RETURNS TABLE(tool_id integer, score double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._rank_vectors(p_embedding public.halfvec, p_model_id integer, p_tool_ids integer[], p_limit integer) IS 'A vector arm over given tools: the inner product with each tool''s best vector, exact.';

CREATE FUNCTION tool_rag._rank_words(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_terms text[], p_term_weights double precision[], p_base double precision, p_slope double precision, p_tool_ids integer[], p_limit integer) RETURNS TABLE(tool_id integer, score double precision)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'on'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._rank_words(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_terms text[], p_term_weights double precision[], p_base double precision, p_slope double precision, p_tool_ids integer[], p_limit integer) IS 'The word arm over given tools: BM25 of the tool or its best example, exact.';

CREATE FUNCTION tool_rag._read_hours(p_hours text, OUT weekdays integer[], OUT hours_from time without time zone, OUT hours_until time without time zone, OUT time_zone text) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._read_hours(p_hours text, OUT weekdays integer[], OUT hours_from time without time zone, OUT hours_until time without time zone, OUT time_zone text) IS 'As _parse_hours; a fault is an error.';

CREATE FUNCTION tool_rag._read_login(OUT bound text[], OUT is_trusted boolean) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._read_login(OUT bound text[], OUT is_trusted boolean) IS 'What holds for the login of this session and the role that it has set (SET ROLE): the bindings of both and of all roles whose privileges they inherit, each as the text of an array of roles; and whether it, or the role where one is set, is trusted.';

CREATE FUNCTION tool_rag._read_query(p_query text, p_tool_ids integer[] DEFAULT NULL::integer[], OUT lexeme_ids integer[], OUT weights double precision[], OUT frequencies integer[], OUT words text[], OUT terms text[], OUT term_weights double precision[], OUT expansion text, OUT base double precision, OUT slope double precision, OUT word_count integer, OUT lexeme_count integer, OUT document_count integer) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._read_query(p_query text, p_tool_ids integer[], OUT lexeme_ids integer[], OUT weights double precision[], OUT frequencies integer[], OUT words text[], OUT terms text[], OUT term_weights double precision[], OUT expansion text, OUT base double precision, OUT slope double precision, OUT word_count integer, OUT lexeme_count integer, OUT document_count integer) IS 'The request''s lexemes that stand in any tool, rarest first: their ids, BM25 idf, numbers of tools and words; all its lexemes with their idf; what synonyms of its terms add, whose lexemes count half; the two constants of BM25''s length normalisation; how many words and different lexemes the request has; and the number of all tools. "Any" and "all" are the whole catalogue, or only the given tools, as if there were no others. Of a long request the first hundred lexemes count.';

CREATE FUNCTION tool_rag._read_tools(p_tools jsonb) RETURNS TABLE("position" bigint, name text, title text, description text, input_schema jsonb, output_schema jsonb, annotations jsonb, is_action boolean, identity_parameters text[], content_hash bytea)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._read_tools(p_tools jsonb) IS 'The tools of an export as rows.';

CREATE FUNCTION tool_rag._record_delete() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._record_delete() IS 'Audits a row that goes.';

CREATE FUNCTION tool_rag._record_insert() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._record_insert() IS 'Audits new rows.';

CREATE FUNCTION tool_rag._record_search(p_started timestamp with time zone, p_query text, p_roles text[], p_conversation text, p_tool_ids integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._record_search(p_started timestamp with time zone, p_query text, p_roles text[], p_conversation text, p_tool_ids integer[]) IS 'Audits a search as far as the level has it: as a row, or in a read-only transaction as a line of the server''s log. Volatile, so that search_tools, which is stable, may write through it.';

CREATE FUNCTION tool_rag._record_truncate() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._record_truncate() IS 'Audits every row of a table that is emptied.';

CREATE FUNCTION tool_rag._record_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._record_update() IS 'Audits rows that an update changed.';

CREATE FUNCTION tool_rag._refresh_access(p_role_ids integer[], p_tool_ids integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._refresh_access(p_role_ids integer[], p_tool_ids integer[]) IS 'Makes role_tool equal to the rules for some roles, with their schedules, and tools (null: all).';

CREATE FUNCTION tool_rag._refresh_withheld(p_server_ids integer[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._refresh_withheld(p_server_ids integer[]) IS 'Hides tools of which another version waits, where that is the policy, and no others. One that is hidden because of a rejected version stays so until its server offers the approved one again. Of some servers; null: of all.';

CREATE FUNCTION tool_rag._refuse_audit_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._refuse_audit_edit() IS 'Keeps entries of the audit as they were written. It guards against mistakes: who owns the tables can drop the trigger.';

CREATE FUNCTION tool_rag._relevance(p_similarity double precision, p_word_score double precision, p_lexeme_count integer, p_sameness double precision, p_document_count integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((1)::double precision / ((1)::double precision + exp((- GREATEST(('-30'::integer)::double precision, LEAST((30)::double precision, (((((('-0.61'::numeric)::double precision + ((9.07)::double precision * COALESCE(p_similarity, (0)::double precision))) + (((3.86)::double precision * COALESCE(p_word_score, (0)::double precision)) / (ln(((1)::numeric + (((p_document_count)::numeric + 0.5) / 0.5))))::double precision)) - ((0.23)::double precision * sqrt((p_lexeme_count)::double precision))) - ((8.26)::double precision * COALESCE(p_sameness, (0)::double precision))) - ((0.8)::double precision * ln((GREATEST(30, LEAST(10000, p_document_count)))::double precision)))))))));

COMMENT ON FUNCTION tool_rag._relevance(p_similarity double precision, p_word_score double precision, p_lexeme_count integer, p_sameness double precision, p_document_count integer) IS 'How likely it is, from 0 to 1, that a tool serves a request, if half of all requests are served by some tool: of the similarity, the BM25 score, how many different lexemes the request has, its similarity to tools in general, and the size of the catalogue.';

CREATE FUNCTION tool_rag._replace_synonyms(p_server_id integer, p_tools jsonb) RETURNS integer[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._replace_synonyms(p_server_id integer, p_tools jsonb) IS 'Makes the synonyms of those tools that list some, or an empty list, equal to it; returns the tools of which that changed any.';

CREATE FUNCTION tool_rag._resolve_tool(p_name text, p_roles text[], p_servers text[], p_allowed jsonb) RETURNS TABLE(outcome text, server text, name text, similarity real)
    LANGUAGE plpgsql STABLE ROWS 3 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._resolve_tool(p_name text, p_roles text[], p_servers text[], p_allowed jsonb) IS 'What resolve_tool returns: in PL/pgSQL no column may be named like an argument.';

CREATE FUNCTION tool_rag._restore_marks(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._restore_marks(p_text text) IS 'What _carry_marks replaced, for people to read.';

CREATE FUNCTION tool_rag._review_export(p_server_id integer, p_tools jsonb, OUT tools jsonb, OUT waiting integer, OUT rejected integer, OUT flagged integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._review_export(p_server_id integer, p_tools jsonb, OUT tools jsonb, OUT waiting integer, OUT rejected integer, OUT flagged integer) IS 'Notes which tools of an export wait or are rejected, and returns the export without them.';

CREATE FUNCTION tool_rag._review_policy(p_server tool_rag.server) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((p_server).review_policy, (SELECT r.review_policy FROM tool_rag.review_setting r));

COMMENT ON FUNCTION tool_rag._review_policy(p_server tool_rag.server) IS 'The policy of a server: its own, or else that of all.';

CREATE FUNCTION tool_rag._role_ids(p_names text[]) RETURNS integer[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._role_ids(p_names text[]) IS 'The roles of these names, as far as they exist.';

CREATE FUNCTION tool_rag._rows_at(p_object text, p_time timestamp with time zone) RETURNS SETOF jsonb
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._rows_at(p_object text, p_time timestamp with time zone) IS 'The rows of an audited table at a time.';

CREATE FUNCTION tool_rag._rules_on(p_role_id integer, p_server text, p_tool text) RETURNS TABLE(grant_id integer, rule_role text, server_pattern text, tool_pattern text, effect text, valid_until timestamp with time zone, valid boolean, valid_from timestamp with time zone, hours text)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._rules_on(p_role_id integer, p_server text, p_tool text) IS 'The rules of a role and its ancestors that fit a tool; valid: in force now.';

CREATE FUNCTION tool_rag._search(p_query text, p_roles text[], p_k integer, p_embedding public.vector, p_context text[], p_conversation text, p_servers text[], p_token_budget integer, p_min_relevance double precision, p_options jsonb, p_allowed jsonb, p_is_recorded boolean) RETURNS TABLE(rank integer, server text, name text, title text, description text, input_schema jsonb, is_action boolean, relevance real, score real, tokens integer, reason text, explain jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._search(p_query text, p_roles text[], p_k integer, p_embedding public.vector, p_context text[], p_conversation text, p_servers text[], p_token_budget integer, p_min_relevance double precision, p_options jsonb, p_allowed jsonb, p_is_recorded boolean) IS 'search_tools, which the audit may record or not: what explains a search searches more than once.';

CREATE FUNCTION tool_rag._sees_all() RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._sees_all() IS 'Whether the caller may list the whole catalogue, and so know how large it is.';

CREATE FUNCTION tool_rag._server_ids(p_patterns text[]) RETURNS integer[]
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._server_ids(p_patterns text[]) IS 'The servers whose names fit any of some patterns; null, which means all, where there are none.';

CREATE FUNCTION tool_rag._show_characters(p_text text, p_class text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._show_characters(p_text text, p_class text) IS 'Text with the characters of a class as their numbers: <U+202E>.';

CREATE FUNCTION tool_rag._show_hidden(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._show_hidden(p_text text) IS 'Text whose hidden characters, and all that steer a terminal, can be read.';

CREATE FUNCTION tool_rag._similarities(p_text text, p_others text[]) RETURNS double precision[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._similarities(p_text text, p_others text[]) IS 'How similar a text is to others, 0 to 1: twice the length of the longest common subsequence by the sum of both lengths (what edits by insertion and deletion leave).';

CREATE FUNCTION tool_rag._singular(p_words text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._singular(p_words text[]) IS 'Words as keys that their plural has as well: orders and order, cities and city. Not for display.';

CREATE FUNCTION tool_rag._skeleton(p_folded text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace(replace(translate(tool_rag._plain_letters(p_folded), '01i'::text, 'oll'::text), 'rn'::text, 'm'::text), 'vv'::text, 'w'::text);

COMMENT ON FUNCTION tool_rag._skeleton(p_folded text) IS 'A folded name with what looks alike made the same, as tool_name.skeleton has it.';

CREATE FUNCTION tool_rag._split_request(p_text text) RETURNS text[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._split_request(p_text text) IS 'The requests that a text makes: cut at semicolons, lines, numbered items and words such as "also", "as well as" and "and then", never inside quotations, code, addresses or brackets; one where it makes one.';

CREATE FUNCTION tool_rag._stand_ins() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'ꀀꀁꀂꀃꀄꀅꀆꀇꀈꀉꀊꀋꀌꀍꀎꀏꀐꀑꀒꀓꀔꀕꀖꀗꀘꀙꀚꀛꀜꀝꀞꀟꀠꀡꀢꀣꀤꀥꀦꀧꀨꀩꀪꀫꀬꀭꀮꀯꀰꀱꀲꀳꀴꀵꀶꀷꀸꀹꀺꀻꀼꀽꀾꀿꁀꁁꁂꁃꁄꁅꁆꁇꁈꁉꁊꁋꁌꁍꁎꁏꁐꁑꁒꁓꁔꁕꁖꁗꁘꁙꁚꁛꁜꁝꁞꁟꁠꁡꁢꁣꁤꁥꁦꁧꁨꁩꁪꁫꁬꁭꁮꁯꁰꁱꁲꁳꁴꁵꁶꁷꁸꁹꁺꁻꁼꁽꁾꁿꂀꂁꂂꂃꂄꂅꂆꂇꂈꂉꂊꂋꂌꂍꂎꂏꂐꂑꂒꂓꂔꂕꂖꂗꂘꂙꂚꂛꂜꂝꂞꂟꂠꂡꂢꂣꂤꂥꂦꂧꂨꂩꂪꂫꂬꂭꂮꂯꂰꂱꂲꂳꂴꂵꂶꂷꂸꂹꂺꂻꂼꂽꂾꂿꃀꃁꃂꃃꃄꃅꃆꃇꃈꃉꃊꃋꃌꃍꃎꃏꃐꃑꃒꃓꃔꃕꃖꃗꃘꃙꃚꃛꃜꃝꃞꃟꃠꃡꃢꃣꃤꃥꃦꃧꃨꃩꃪꃫꃬꃭꃮꃯꃰꃱꃲꃳꃴꃵꃶꃷꃸꃹꃺꃻꃼꃽꃾꃿꄀꄁꄂꄃꄄꄅꄆꄇꄈꄉꄊꄋꄌꄍꄎꄏꄐꄑꄒꄓꄔꄕꄖꄗꄘꄙꄚꄛꄜꄝꄞꄟꄠꄡꄢꄣꄤꄥꄦꄧꄨꄩꄪꄫꄬꄭꄮꄯꄰꄱꄲꄳꄴꄵꄶꄷꄸꄹꄺꄻꄼꄽꄾꄿꅀꅁꅂꅃꅄꅅꅆꅇꅈꅉꅊꅋꅌꅍꅎꅏꅐꅑꅒꅓꅔꅕꅖꅗꅘꅙꅚꅛꅜꅝꅞꅟꅠꅡꅢꅣꅤꅥꅦꅧꅨꅩꅪꅫꅬꅭꅮꅯꅰꅱꅲꅳꅴꅵꅶꅷꅸꅹꅺꅻꅼꅽꅾꅿꆀꆁꆂꆃꆄꆅꆆꆇꆈꆉꆊꆋꆌꆍꆎꆏꆐꆑꆒꆓꆔꆕꆖꆗꆘꆙꆚꆛꆜꆝꆞꆟꆠꆡꆢꆣꆤꆥꆦꆧꆨꆩꆪꆫꆬꆭꆮꆯꆰꆱꆲꆳꆴꆵꆶꆷꆸꆹꆺꆻꆼꆽꆾꆿꇀꇁꇂꇃꇄꇅꇆꇇꇈꇉꇊꇋꇌꇍꇎꇏꇐꇑꇒꇓꇔꇕꇖꇗꇘꇙꇚꇛꇜꇝꇞꇟꇠꇡꇢꇣꇤꇥꇦꇧꇨꇩꇪꇫꇬꇭꇮꇯꇰꇱꇲꇳꇴꇵꇶꇷꇸꇹꇺꇻꇼꇽꇾꇿꈀꈁꈂꈃꈄꈅꈆꈇꈈꈉꈊꈋꈌꈍꈎꈏꈐꈑꈒꈓꈔꈕꈖꈗꈘꈙꈚꈛꈜꈝꈞꈟꈠꈡꈢꈣꈤꈥꈦꈧꈨꈩꈪꈫꈬꈭꈮꈯꈰꈱꈲꈳꈴꈵꈶꈷꈸꈹꈺꈻꈼꈽꈾꈿꉀꉁꉂꉃꉄꉅꉆꉇꉈꉉꉊꉋꉌꉍꉎꉏꉐꉑꉒꉓꉔꉕꉖꉗꉘꉙꉚꉛꉜꉝꉞꉟꉠꉡꉢꉣꉤꉥꉦꉧꉨꉩꉪꉫꉬꉭꉮꉯꉰꉱꉲꉳꉴꉵꉶꉷꉸꉹꉺꉻꉼꉽꉾꉿꊀꊁꊂꊃꊄꊅꊆꊇꊈꊉꊊꊋꊌꊍꊎꊏꊐꊑꊒꊓꊔꊕꊖꊗꊘꊙꊚꊛꊜꊝꊞꊟꊠꊡꊢꊣꊤꊥꊦꊧꊨꊩꊪꊫꊬꊭꊮꊯꊰꊱꊲꊳꊴꊵꊶ'::text;

COMMENT ON FUNCTION tool_rag._stand_ins() IS 'As many syllables of Yi, which no locale splits a word at.';

CREATE FUNCTION tool_rag._store_tools(p_server_id integer, p_tools jsonb, OUT added integer, OUT changed integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._store_tools(p_server_id integer, p_tools jsonb, OUT added integer, OUT changed integer) IS 'Makes tools of a server what an export says of them, adding those that it lacks.';

CREATE FUNCTION tool_rag._surplus_words(p_words text[], p_others text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._surplus_words(p_words text[], p_others text[]) IS 'The words that stand in one list more often than in another, in order.';

CREATE FUNCTION tool_rag._texts_to_embed(p_model_id integer) RETURNS TABLE(tool_id integer, kind text, source_id integer, source_hash bytea)
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._texts_to_embed(p_model_id integer) IS 'Texts of which a model has no vector, or one of an earlier wording or document prompt.';

CREATE FUNCTION tool_rag._token_roles(p_token text) RETURNS text[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._token_roles(p_token text) IS 'The roles that the claims of a token name; null where it has no such claim, an error where they can''t be read.';

CREATE FUNCTION tool_rag._tool_fields(p_name text, p_title text, p_description text, p_input_schema jsonb, p_server text) RETURNS TABLE(field text, content text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._tool_fields(p_name text, p_title text, p_description text, p_input_schema jsonb, p_server text) IS 'The texts of a tool by which it is found, by field, each at most 50,000 characters (a tsvector holds no more than 1 MB).';

CREATE FUNCTION tool_rag._tool_id(p_server text, p_tool text) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._tool_id(p_server text, p_tool text) IS 'A tool by its names, or null.';

CREATE FUNCTION tool_rag._tool_in_general() RETURNS public.halfvec
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._tool_in_general() IS 'The mean vector of the tools of four public sets, by the built-in model: what a request resembles in it, it resembles in any tool.';

CREATE FUNCTION tool_rag._tool_texts(p_definition jsonb) RETURNS TABLE(field text, content text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._tool_texts(p_definition jsonb) IS 'Every text of a definition, wherever it stands in the schemas, and where that is.';

CREATE FUNCTION tool_rag._try_versions(p_server_id integer, p_tools jsonb, p_max integer) RETURNS TABLE(name text, examined integer, known integer, first_before integer, first integer, among_before integer, among integer, requests jsonb)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._try_versions(p_server_id integer, p_tools jsonb, p_max integer) IS 'For how many known requests of other tools versions would come first, or among the first five, for how many of these they do already, and for which they would come further ahead. They are stored, searched for by a role that may see everything, and taken back.';

CREATE FUNCTION tool_rag._unindex_lexemes(p_tool_ids integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._unindex_lexemes(p_tool_ids integer[]) IS 'Takes the postings and lengths of tools away, also from the statistics.';

CREATE FUNCTION tool_rag._visible_names(p_folded text[], p_role_ids integer[], p_server_ids integer[], p_gate integer[]) RETURNS integer[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._visible_names(p_folded text[], p_role_ids integer[], p_server_ids integer[], p_gate integer[]) IS 'The tools with any of some folded names that a caller (see _caller) may see.';

CREATE FUNCTION tool_rag._with_schedules(p_role_ids integer[]) RETURNS integer[]
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._with_schedules(p_role_ids integer[]) IS 'Roles, and the schedules in force now of all that they hold: what they see in role_tool.';

CREATE FUNCTION tool_rag._within_one_edit(p_left text, p_right text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._within_one_edit(p_left text, p_right text) IS 'Whether two words are the same but for one letter, where both have five or more.';

CREATE FUNCTION tool_rag._without_secrets(p_value jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._without_secrets(p_value jsonb) IS 'A document without the values of keys that are called like secrets, at any depth.';

CREATE FUNCTION tool_rag._word_pieces(p_word text) RETURNS text[]
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._word_pieces(p_word text) IS 'Greedy longest-match word pieces of one word (Wu et al. 2016); empty when any part is unknown.';

CREATE FUNCTION tool_rag._words(p_text text) RETURNS SETOF text
    LANGUAGE plpgsql IMMUTABLE STRICT ROWS 20 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag._words(p_text text) IS 'The words of a text as BERT''s uncased basic tokeniser splits them (Devlin et al. 2018).';

CREATE FUNCTION tool_rag._write_hours(p_weekdays integer[], p_from time without time zone, p_until time without time zone, p_time_zone text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag._write_hours(p_weekdays integer[], p_from time without time zone, p_until time without time zone, p_time_zone text) IS 'Hours as a text that _parse_hours reads, always the same for the same hours.';

CREATE FUNCTION tool_rag.add_api_key(name text, public_id text, digest bytea, roles text[], identity jsonb DEFAULT '{}'::jsonb, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag.add_api_key(name text, public_id text, digest bytea, roles text[], identity jsonb, expires_at timestamp with time zone) IS 'Stores a key by its digest, with the roles that it asks with, the identity on whose behalf, and its end (null: none).';

CREATE FUNCTION tool_rag.add_dependency(server text, tool text, needs_server text, needs_tool text, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.add_dependency(server text, tool text, needs_server text, needs_tool text, reason text) IS 'One tool needs another, and why; true where that is new or has a new reason.';

CREATE FUNCTION tool_rag.add_embedding_model(name text, dimensions integer, query_prompt text DEFAULT ''::text, document_prompt text DEFAULT ''::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag.add_embedding_model(name text, dimensions integer, query_prompt text, document_prompt text) IS 'Registers a model whose vectors a client computes, or changes its prompts; true where it is new. It counts in searches once it is in use (use_embedding_model) or named by the caller.';

CREATE FUNCTION tool_rag.add_example(server text, tool text, request text, origin text DEFAULT 'human'::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.add_example(server text, tool text, request text, origin text) IS 'A request that a tool serves; true where it is new.';

CREATE FUNCTION tool_rag.add_role(name text, parents text[] DEFAULT '{}'::text[], description text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.add_role(name text, parents text[], description text) IS 'Creates a role, or adds parents to one that exists; true where it is new.';

CREATE FUNCTION tool_rag.add_synonym(words text, server text DEFAULT NULL::text, tool text DEFAULT NULL::text, term text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.add_synonym(words text, server text, tool text, term text) IS 'Words by which people mean one tool, or a term of any request; true where they are new.';

CREATE FUNCTION tool_rag.approve_tools(server_pattern text, tool_pattern text DEFAULT '*'::text, hashes text[] DEFAULT NULL::text[]) RETURNS TABLE(server text, name text, is_new boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.approve_tools(server_pattern text, tool_pattern text, hashes text[]) IS 'Lets versions serve that wait and fit two patterns, exactly as list_pending_tools showed them. hashes: only these, rejected ones too; an error where one of them is not there, so that nothing can be swapped between look and approval. Returns the tools.';

CREATE FUNCTION tool_rag.authenticate_key(public_id text, digest bytea) RETURNS TABLE(name text, roles text[], identity jsonb, expires_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.authenticate_key(public_id text, digest bytea) IS 'The roles and identity of the key with this public id and digest; no row where there is none, it is another, revoked or expired, without telling which.';

CREATE FUNCTION tool_rag.bind_login(login text, roles text[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.bind_login(login text, roles text[]) IS 'Ties a login of Postgres, and all that inherit its privileges, to roles, in place of those it was tied to: it never sees more than these see together, whatever it passes or sets, and without any roles just that. True where that is a change.';

CREATE FUNCTION tool_rag.count_tools(roles text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(tools integer, tokens bigint, all_tools integer, all_tokens bigint)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.count_tools(roles text[], allowed jsonb) IS 'How many tools roles may see now and their tokens in a prompt, beside those of the whole catalogue, which only whoever may list that is told; with null the session''s own roles.';

CREATE FUNCTION tool_rag.describe_tool(server text, name text, roles text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(server text, name text, title text, description text, input_schema jsonb, output_schema jsonb, annotations jsonb, is_action boolean, identity_parameters text[], enabled boolean, tokens integer, updated_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.describe_tool(server text, name text, roles text[], allowed jsonb) IS 'All that the catalogue knows of a tool that the caller may see; roles and allowed say who asks, as in search_tools. Without them, whoever may list the whole catalogue is told of any tool.';

CREATE FUNCTION tool_rag.distrust_login(login text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.distrust_login(login text) IS 'Takes back trust_login; false where the login was not trusted.';

CREATE FUNCTION tool_rag.drop_embedding_model(name text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.drop_embedding_model(name text) IS 'Removes a model and its vectors; returns how many these were.';

CREATE FUNCTION tool_rag.embed(text text) RETURNS public.halfvec
    LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.embed(text text) IS 'The built-in model''s vector of a text, of length 1; null when no word piece of it is known.';

CREATE FUNCTION tool_rag.explain_access(role text, server text, tool text) RETURNS TABLE(permitted boolean, reason text, rule_role text, server_pattern text, tool_pattern text, effect text, valid_until timestamp with time zone, valid boolean, valid_from timestamp with time zone, hours text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.explain_access(role text, server text, tool text) IS 'Why a role may or may not see a tool: the verdict, and beside it every rule of the role and its parents that fits the tool, denies first. For admins: it tells what exists.';

CREATE FUNCTION tool_rag.explain_missing(query text, server text, tool text, roles text[] DEFAULT NULL::text[], k integer DEFAULT 8, context text[] DEFAULT '{}'::text[], conversation text DEFAULT NULL::text, servers text[] DEFAULT NULL::text[], token_budget integer DEFAULT NULL::integer, min_relevance double precision DEFAULT NULL::double precision, options jsonb DEFAULT '{}'::jsonb, allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(outcome text, rank integer, relevance real, reason text, detail jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.explain_missing(query text, server text, tool text, roles text[], k integer, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) IS 'Why a search, with the same arguments, does not return a tool: crowded_out (by better ones), below_cut_off, over_budget, other_server or not_permitted, which also stands for a tool that does not exist; or listed. It tells no more than the roles may know; explain_access tells an admin which rule decides.';

CREATE FUNCTION tool_rag.forget_conversations(before timestamp with time zone, conversation text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.forget_conversations(before timestamp with time zone, conversation text) IS 'Removes what is known of conversations that were silent since a time (of all, or of one); returns how many.';

CREATE FUNCTION tool_rag.grant_access(login text, access text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.grant_access(login text, access text) IS 'Makes a login a reader, an editor or an admin, in place of what it was; false where it was that already. It holds in every database of the server that has this schema.';

CREATE FUNCTION tool_rag.grant_tools(role text, server_pattern text, tool_pattern text DEFAULT '*'::text, effect text DEFAULT 'allow'::text, valid_until timestamp with time zone DEFAULT NULL::timestamp with time zone, valid_from timestamp with time zone DEFAULT NULL::timestamp with time zone, hours text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.grant_tools(role text, server_pattern text, tool_pattern text, effect text, valid_until timestamp with time zone, valid_from timestamp with time zone, hours text) IS 'Adds a rule, or changes its end where the same rule, with the same beginning and hours, stands already; returns how many tools of today''s catalogue its patterns fit. It holds from valid_from (null: at once) until valid_until (null: without end), and only in hours as ''Mon-Fri 09:00-17:00 Europe/Berlin'' (null: in all). A deny that holds wins over any allow.';

CREATE FUNCTION tool_rag.lint_catalogue(server_pattern text DEFAULT '*'::text, tool_pattern text DEFAULT '*'::text) RETURNS TABLE(server text, tool text, rule text, severity text, field text, place integer, excerpt text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.lint_catalogue(server_pattern text, tool_pattern text) IS 'What the linter finds in the tools of the catalogue that fit two patterns. For admins.';

CREATE FUNCTION tool_rag.lint_tools(payload jsonb) RETURNS TABLE(server text, tool text, rule text, severity text, field text, place integer, excerpt text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.lint_tools(payload jsonb) IS 'What the linter finds in an export (or an array of them), as upsert_tools takes it, beside the catalogue. Nothing is stored.';

CREATE FUNCTION tool_rag.list_access_changes(since timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(role text, server text, tool text, change text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_access_changes(since timestamp with time zone, until timestamp with time zone) IS 'Which roles gained or lost which tools between two times (by default until now), whatever did it: rules, their beginning, end and hours, inheritance, tools or servers that came, went or were switched. What was in between, as hours that began and ended, is not told. For admins.';

CREATE FUNCTION tool_rag.list_api_keys(name text DEFAULT NULL::text) RETURNS TABLE(name text, public_id text, roles text[], identity jsonb, state text, expires_at timestamp with time zone, created_at timestamp with time zone, rotated_at timestamp with time zone, last_used_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_api_keys(name text) IS 'The keys, or the one of a name, without anything by which one could ask. last_used_at is right to a minute. For admins.';

CREATE FUNCTION tool_rag.list_audit_events(since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, kind text DEFAULT NULL::text, outcome text DEFAULT NULL::text, login text DEFAULT NULL::text, max_rows integer DEFAULT 100) RETURNS TABLE(happened_at timestamp with time zone, kind text, login text, acting_role text, actor text, roles text[], conversation text, outcome text, tools integer, tokens integer, milliseconds real, detail jsonb, event_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_audit_events(since timestamp with time zone, until timestamp with time zone, kind text, outcome text, login text, max_rows integer) IS 'Recorded searches and calls, the latest first. For admins.';

CREATE FUNCTION tool_rag.list_changes(since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, objects text[] DEFAULT NULL::text[], label text DEFAULT NULL::text, login text DEFAULT NULL::text, max_rows integer DEFAULT 100) RETURNS TABLE(changed_at timestamp with time zone, login text, acting_role text, actor text, object text, label text, action text, before jsonb, after jsonb, change_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_changes(since timestamp with time zone, until timestamp with time zone, objects text[], label text, login text, max_rows integer) IS 'Changes of catalogue, wording and access, the latest first: of some tables (server, tool, role, role_parent, grant_rule, synonym, example, dependency, ...), of labels that fit a pattern, by one login. For admins.';

CREATE FUNCTION tool_rag.list_dependencies() RETURNS TABLE(server text, tool text, needs_server text, needs_tool text, reason text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_dependencies() IS 'Which tools need which others, and why. For admins.';

CREATE FUNCTION tool_rag.list_embedding_models() RETURNS TABLE(name text, dimensions integer, query_prompt text, document_prompt text, is_active boolean, embedded bigint, missing bigint)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_embedding_models() IS 'The embedding models, with their numbers of vectors and of texts that they have still to embed.';

CREATE FUNCTION tool_rag.list_examples(server text DEFAULT NULL::text, tool text DEFAULT NULL::text, origin text DEFAULT NULL::text) RETURNS TABLE(server text, tool text, request text, origin text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_examples(server text, tool text, origin text) IS 'Requests that tools serve; with a server, a tool or an origin only theirs. For admins.';

CREATE FUNCTION tool_rag.list_logins() RETURNS TABLE(login text, access text, is_bound boolean, roles text[], is_trusted boolean, note text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_logins() IS 'Logins that are in a group, bound or trusted: what each may do here, the roles that it is bound to, and a note where its name and its number are no longer of one login.';

CREATE FUNCTION tool_rag.list_pending_tools(server_pattern text DEFAULT '*'::text, tool_pattern text DEFAULT '*'::text, rejected boolean DEFAULT false) RETURNS TABLE(server text, name text, is_new boolean, state text, reason text, hash text, findings jsonb, current jsonb, definition jsonb, submitted_at timestamp with time zone, submitted_by text, decided_at timestamp with time zone, decided_by text, note text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_pending_tools(server_pattern text, tool_pattern text, rejected boolean) IS 'Versions of tools that do not serve: those that wait or that the policy refused, and on demand those that were rejected. current is the tool as it is (null: it is new), definition what it would become. For admins.';

CREATE FUNCTION tool_rag.list_review_policies() RETURNS TABLE(server text, policy text, lint text, is_default boolean, waiting integer, rejected integer)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_review_policies() IS 'The policy of all servers (null), then that of each with the number of its versions that wait and that were rejected or refused.';

CREATE FUNCTION tool_rag.list_roles() RETURNS TABLE(name text, description text, parents text[], rules integer, tools integer)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_roles() IS 'Every role with its parents, the number of its own rules, and of the tools that it may see now.';

CREATE FUNCTION tool_rag.list_rules(role text DEFAULT NULL::text) RETURNS TABLE(rule_role text, server_pattern text, tool_pattern text, effect text, valid_until timestamp with time zone, valid boolean, valid_from timestamp with time zone, hours text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_rules(role text) IS 'The rules of a role, its own first and then those that it inherits, the nearest role first; with null the rules of all roles. Of each role denies come first; rule_role says whose a rule is, valid whether it holds now.';

CREATE FUNCTION tool_rag.list_synonyms(server text DEFAULT NULL::text, tool text DEFAULT NULL::text) RETURNS TABLE(server text, tool text, term text, words text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_synonyms(server text, tool text) IS 'Synonyms of terms, then those of tools; with a server or a tool only theirs. For admins.';

CREATE FUNCTION tool_rag.list_tool_access(server text, tool text) RETURNS TABLE(role text, permitted boolean, reason text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_tool_access(server text, tool text) IS 'Which roles may see a tool now, and why: explain_access for every role, without the rules.';

CREATE FUNCTION tool_rag.list_tools() RETURNS TABLE(server text, name text, title text, description text, is_action boolean, tokens integer, enabled boolean)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.list_tools() IS 'Every tool of the catalogue, whoever may see it. For admins; callers have permitted_tools.';

CREATE FUNCTION tool_rag.permitted_servers(roles text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(server text, title text, description text, tools integer, actions integer)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.permitted_servers(roles text[], allowed jsonb) IS 'The servers of which roles may see a tool now, and of how many; actions are those that may change something. Arguments as in permitted_tools.';

CREATE FUNCTION tool_rag.permitted_tools(roles text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(server text, name text, title text, description text, is_action boolean, tokens integer)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.permitted_tools(roles text[], allowed jsonb) IS 'Every tool that roles may see now; with null the session''s own roles. allowed, as {"server": {"tools": ["name", ...]}}, takes away all others.';

CREATE FUNCTION tool_rag.purge_audit(OUT changes bigint, OUT events bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.purge_audit(OUT changes bigint, OUT events bigint) IS 'Removes what the retention no longer keeps, and tells how much. Run it by cron or by hand.';

CREATE FUNCTION tool_rag.record_call(server text, tool text, outcome text, roles text[] DEFAULT NULL::text[], conversation text DEFAULT NULL::text, detail jsonb DEFAULT NULL::jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.record_call(server text, tool text, outcome text, roles text[], conversation text, detail jsonb) IS 'Records that a tool was called, or that a call was refused, as far as the level of the audit has it; true where it did. Values of detail whose keys look like secrets are not kept.';

CREATE FUNCTION tool_rag.record_message(conversation text, said text, OUT turn integer, OUT context text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.record_message(conversation text, said text, OUT turn integer, OUT context text[]) IS 'Notes a request of a conversation and returns the number of this turn, from 0, and the requests before it, at most four, the latest last: the context of a search. For backends that keep no conversations themselves. Whoever knows a conversation''s name gets its requests.';

CREATE FUNCTION tool_rag.record_sent(conversation text, tools text[], roles text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.record_sent(conversation text, tools text[], roles text[], allowed jsonb) IS 'Notes which tools (''SERVER/TOOL'', in order) a conversation''s model was given; those that are new come after the earlier ones. Returns how many are new. roles and allowed say who asks, as in search_tools.';

CREATE FUNCTION tool_rag.record_use(conversation text, turn integer, server text, tool text, roles text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.record_use(conversation text, turn integer, server text, tool text, roles text[], allowed jsonb) IS 'Notes that a conversation used a tool in one of its assistant turns; turn null stands for that of its last recorded message. roles and allowed say who asks, as in search_tools: only a tool that these may see is noted.';

CREATE FUNCTION tool_rag.reindex_tools() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.reindex_tools() IS 'Indexes every tool anew and returns their number. Needed only after the built-in model was replaced; edits of tools and settings index by themselves.';

CREATE FUNCTION tool_rag.reject_tools(server_pattern text, tool_pattern text DEFAULT '*'::text, hashes text[] DEFAULT NULL::text[], note text DEFAULT NULL::text) RETURNS TABLE(server text, name text, is_new boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.reject_tools(server_pattern text, tool_pattern text, hashes text[], note text) IS 'Rejects versions that wait and fit two patterns, or those of some hashes. The same version is rejected whenever an export brings it again. Returns the tools.';

CREATE FUNCTION tool_rag.remove_dependency(server text, tool text, needs_server text, needs_tool text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.remove_dependency(server text, tool text, needs_server text, needs_tool text) IS 'One tool no longer needs another; false where it did not.';

CREATE FUNCTION tool_rag.remove_example(server text, tool text, request text, origin text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.remove_example(server text, tool text, request text, origin text) IS 'Removes a request from a tool''s examples (null: all of them), with an origin only where it has that; false where there was none.';

CREATE FUNCTION tool_rag.remove_role(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.remove_role(name text) IS 'Removes a role, its rules and its inheritance.';

CREATE FUNCTION tool_rag.remove_server(name text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.remove_server(name text) IS 'Removes a server with its tools; returns how many these were. Rules stay: they fit the server again when it comes back.';

CREATE FUNCTION tool_rag.remove_synonym(words text, server text DEFAULT NULL::text, tool text DEFAULT NULL::text, term text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.remove_synonym(words text, server text, tool text, term text) IS 'Removes a synonym of a tool or a term (words null: all of them); false where there was none.';

CREATE FUNCTION tool_rag.resolve_tool(name text, roles text[] DEFAULT NULL::text[], servers text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(outcome text, server text, name text, similarity real)
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 3 PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.resolve_tool(name text, roles text[], servers text[], allowed jsonb) IS 'Which permitted tool a name means, written as TOOL or SERVER/TOOL: one row "exact" or "corrected" (the same but for case and separators, or misspelt beyond doubt), up to three rows "hint" where more than one may be meant or none is near enough, no row where none is alike. roles and allowed say who asks, as in search_tools; servers: only of servers that fit these patterns.';

CREATE FUNCTION tool_rag.revoke_access(login text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.revoke_access(login text) IS 'Takes a login out of the groups of readers, editors and admins; a binding stays. False where it was in none.';

CREATE FUNCTION tool_rag.revoke_api_key(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.revoke_api_key(name text) IS 'Makes a key worthless at once and for good. It stays listed.';

CREATE FUNCTION tool_rag.revoke_tools(role text, server_pattern text, tool_pattern text DEFAULT '*'::text, effect text DEFAULT NULL::text, valid_from timestamp with time zone DEFAULT NULL::timestamp with time zone, hours text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.revoke_tools(role text, server_pattern text, tool_pattern text, effect text, valid_from timestamp with time zone, hours text) IS 'Removes the rules with exactly these patterns (of one effect, or with null of both), whatever their beginning and hours, or only those with a certain one (''-infinity'', ''always'': with none); returns how many. To take single tools out of a wider grant, add a deny.';

CREATE FUNCTION tool_rag.rotate_api_key(name text, digest bytea, grace interval DEFAULT '00:00:00'::interval) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.rotate_api_key(name text, digest bytea, grace interval) IS 'Replaces a key by another with the same roles and identity; the former is good for a while yet. Returns the public id, which stays.';

CREATE FUNCTION tool_rag.search_tools(query text, roles text[] DEFAULT NULL::text[], k integer DEFAULT 8, embedding public.vector DEFAULT NULL::public.vector, context text[] DEFAULT '{}'::text[], conversation text DEFAULT NULL::text, servers text[] DEFAULT NULL::text[], token_budget integer DEFAULT NULL::integer, min_relevance double precision DEFAULT NULL::double precision, options jsonb DEFAULT '{}'::jsonb, allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(rank integer, server text, name text, title text, description text, input_schema jsonb, is_action boolean, relevance real, score real, tokens integer, reason text, explain jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.search_tools(query text, roles text[], k integer, embedding public.vector, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) IS 'The tools that serve a request, best first, among those that the caller''s roles may see (null: the roles of the session''s setting, token or login). allowed, as {"server": {"tools": ["name", ...]}}, takes away all others before anything is ranked. k: how many; servers: only of servers that fit these patterns; embedding: the query''s vector by a model that was added, the one in use or that of the option "model", which ranks beside the rest; options: {"exact": true} scores every permitted tool; "rrf_k", "words_weight", "meaning_weight", "model_weight" and "score_weight" change the fusion, "needs_depth" how far dependencies are followed (0: not at all); "split" whether several requests in one are told apart, "anchor" which tools that it names go first, "context_weight" what earlier messages count; "keep_order" keeps tools that record_sent noted for the conversation in place; "statistics": "permitted" counts words in the tools that the caller may see and in no other. context: earlier messages of the user, oldest first, which count where the request says little; conversation: its tools of the last three turns stay; token_budget: only what fits; min_relevance: only tools that serve with that probability. Dependencies, tools in use and tools sent before come on top of k. reason and explain say why a tool is there.';

CREATE FUNCTION tool_rag.search_tools_batch(queries text[], roles text[] DEFAULT NULL::text[], limits integer[] DEFAULT NULL::integer[], context text[] DEFAULT '{}'::text[], conversation text DEFAULT NULL::text, servers text[] DEFAULT NULL::text[], token_budget integer DEFAULT NULL::integer, min_relevance double precision DEFAULT NULL::double precision, options jsonb DEFAULT '{}'::jsonb, allowed jsonb DEFAULT NULL::jsonb) RETURNS TABLE(query_number integer, rank integer, server text, name text, title text, description text, input_schema jsonb, is_action boolean, relevance real, score real, tokens integer, reason text, explain jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.search_tools_batch(queries text[], roles text[], limits integer[], context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) IS 'Several searches in one statement, in order: query_number counts from 1. limits: k for each of them; the other arguments hold for all.';

CREATE TABLE tool_rag.audit_setting (
    singleton boolean DEFAULT true NOT NULL,
    level text DEFAULT 'off'::text NOT NULL,
    keep_events interval DEFAULT '90 days'::interval NOT NULL,
    keep_changes interval,
    changes_purged_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT audit_setting_keep_check CHECK ((LEAST(keep_events, keep_changes) >= '00:00:00'::interval)),
    CONSTRAINT audit_setting_level_check CHECK ((level = ANY (ARRAY['off'::text, 'counts'::text, 'full'::text]))),
    CONSTRAINT audit_setting_singleton_check CHECK (singleton)
);

COMMENT ON TABLE tool_rag.audit_setting IS 'One row: what is recorded of searches and calls, and how long.';

COMMENT ON COLUMN tool_rag.audit_setting.level IS 'off: no search and no call; counts: who, when and how much; full: also the words and the tools.';

COMMENT ON COLUMN tool_rag.audit_setting.keep_events IS 'How long purge_audit leaves searches and calls.';

COMMENT ON COLUMN tool_rag.audit_setting.keep_changes IS 'How long it leaves changes; null: for ever.';

COMMENT ON COLUMN tool_rag.audit_setting.changes_purged_until IS 'Up to when changes were purged: what access was before can''t be told any more.';

CREATE FUNCTION tool_rag.set_audit(level text DEFAULT NULL::text, keep_events interval DEFAULT NULL::interval, keep_changes interval DEFAULT NULL::interval) RETURNS tool_rag.audit_setting
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.set_audit(level text, keep_events interval, keep_changes interval) IS 'Sets what is recorded of searches and calls, and how long that and changes are kept; what is null stays. Returns what holds then. Changes are always recorded.';

CREATE FUNCTION tool_rag.set_description(server text, tool text, description text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.set_description(server text, tool text, description text) IS 'Gives one tool another description; true where it is another one. The next upsert_tools of its server brings back what the export says.';

CREATE FUNCTION tool_rag.set_review_policy(server text, policy text DEFAULT NULL::text, lint text DEFAULT NULL::text, create_server boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.set_review_policy(server text, policy text, lint text, create_server boolean) IS 'Says what becomes of new and changed tools of a server (null: of all that have no policy of their own): trust, review, withhold or refuse; and of those that the linter flags, where the server is trusted: quarantine or report. Null leaves it, default takes it away. It counts from the next export on.';

CREATE FUNCTION tool_rag.set_roles_claim(path text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.set_roles_claim(path text[]) IS 'Where the claims of a token (the setting request.jwt.claims) have the roles: a path of keys, at first {roles}; null: nowhere.';

CREATE FUNCTION tool_rag.set_strict_statistics(strict boolean DEFAULT NULL::boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.set_strict_statistics(strict boolean) IS 'Says whether every search counts words in the tools that its caller may see and in no other, whatever its option "statistics" says; null only asks. Returns what holds then.';

CREATE FUNCTION tool_rag.store_rules(rules jsonb, replaced_roles text[] DEFAULT '{}'::text[]) RETURNS TABLE(change text, role text, server_pattern text, tool_pattern text, effect text, former_until timestamp with time zone, valid_until timestamp with time zone, valid_from timestamp with time zone, hours text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.store_rules(rules jsonb, replaced_roles text[]) IS 'Adds many rules, or changes their end where they stand already with the same beginning and hours, all or none; of replaced_roles all other rules go. Returns what changed: added, changed or removed, with the end before and after.';

CREATE FUNCTION tool_rag.store_vectors(model text, tool_ids integer[], kinds text[], source_ids integer[], source_hashes bytea[], vectors text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.store_vectors(model text, tool_ids integer[], kinds text[], source_ids integer[], source_hashes bytea[], vectors text[]) IS 'Stores what texts_to_embed asked for, each vector as pgvector''s text; returns how many. Of any length: they are brought to length 1.';

CREATE FUNCTION tool_rag.suggest_dependencies(server text DEFAULT NULL::text, max_rows integer DEFAULT 100) RETURNS TABLE(server text, tool text, needs_server text, needs_tool text, parameter text, reason text, confidence real)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag.suggest_dependencies(server text, max_rows integer) IS 'Proposes which tools need which others, best first, by names and schemas alone: a required parameter such as order_id comes from a tool of the same server that lists or finds orders, or whose output_schema has it. Nothing that a rule serves already, and no cycle; add_dependency takes what is right. With a server only its tools. For admins: it asks nobody''s roles.';

CREATE FUNCTION tool_rag.texts_to_embed(model text, max_rows integer DEFAULT 256) RETURNS TABLE(tool_id integer, kind text, source_id integer, source_hash bytea, content text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.texts_to_embed(model text, max_rows integer) IS 'What a model has still to embed, with its document prompt before it: tools that are new or changed, synonyms and examples. For store_vectors.';

CREATE FUNCTION tool_rag.trust_login(login text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.trust_login(login text) IS 'Believes a backend''s login: its argument "allowed" counts without roles, as far as a binding permits, and its argument "roles" beside a token. True where that is a change.';

CREATE FUNCTION tool_rag.try_approval(server_pattern text, tool_pattern text DEFAULT '*'::text, hashes text[] DEFAULT NULL::text[], max_requests integer DEFAULT NULL::integer) RETURNS TABLE(server text, name text, examined integer, known integer, first_before integer, first integer, among_before integer, among integer, requests jsonb)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.try_approval(server_pattern text, tool_pattern text, hashes text[], max_requests integer) IS 'What approving would do to the known requests of other tools: of how many, the newest, each version would be the first or among the first five, of how many of these it is already, and which. Nothing of it is kept. max_requests: null for that of review_setting.';

CREATE FUNCTION tool_rag.unbind_login(login text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.unbind_login(login text) IS 'Frees a login, also one that no longer exists, from its binding: what it passes and sets then counts. False where it was not bound.';

CREATE FUNCTION tool_rag.unknown_roles(names text[]) RETURNS TABLE(name text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.unknown_roles(names text[]) IS 'Those of some names that no role has. A search takes them for roles that see nothing. To a bound login only its own roles are known.';

CREATE FUNCTION tool_rag.unmatched_words(query text, roles text[] DEFAULT NULL::text[], servers text[] DEFAULT NULL::text[], allowed jsonb DEFAULT NULL::jsonb) RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.unmatched_words(query text, roles text[], servers text[], allowed jsonb) IS 'Words of a request that stand in no tool that the caller may see: candidates for synonyms. Words that only other tools have are among them, so that nothing is told of these.';

CREATE FUNCTION tool_rag.upsert_tools(payload jsonb) RETURNS TABLE(server text, added integer, changed integer, unchanged integer, removed integer, waiting integer, rejected integer, flagged integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$ ... $_$;

COMMENT ON FUNCTION tool_rag.upsert_tools(payload jsonb) IS 'Makes each named server''s tools equal to an export: {"server", "title", "description", "tools": [{"name", "title", "description", "input_schema", "output_schema", "annotations", "is_action", "identity_parameters", "synonyms"}]}, or an array of these. All or nothing; unchanged tools are not touched. What a tool says nothing of (is_action, identity_parameters, synonyms) stays. Under the server''s review policy new and changed tools may wait, or be rejected, instead; flagged counts those of which the linter thinks the worst, wherever they are.';

CREATE FUNCTION tool_rag.use_embedding_model(name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ ... $$;

COMMENT ON FUNCTION tool_rag.use_embedding_model(name text) IS 'From its commit on a search takes a caller''s vector for one of this model; "built-in" goes back.';

CREATE TABLE tool_rag.alembic_version (
    version_num character varying(32) NOT NULL
);

CREATE TABLE tool_rag.api_key (
    key_id integer NOT NULL,
    public_id text NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    former_digest bytea,
    former_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    identity jsonb DEFAULT '{}'::jsonb NOT NULL,
    expires_at timestamp with time zone DEFAULT 'infinity'::timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    rotated_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_key_digest_check CHECK (((length(digest) = 32) AND (COALESCE(length(former_digest), 32) = 32))),
    CONSTRAINT api_key_identity_check CHECK ((jsonb_typeof(identity) = 'object'::text)),
    CONSTRAINT api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 256))),
    CONSTRAINT api_key_public_id_check CHECK ((public_id ~ '^[a-z0-9]{12}$'::text))
);

COMMENT ON TABLE tool_rag.api_key IS 'Keys by which callers of a gateway or of admin pages show who they are. Of a key''s 256 random bits only an HMAC is here, made with a secret that the database never sees: the table alone lets nobody in.';

COMMENT ON COLUMN tool_rag.api_key.public_id IS 'The part of the key that is no secret, to find it by.';

COMMENT ON COLUMN tool_rag.api_key.digest IS 'HMAC-SHA256 of the whole key.';

COMMENT ON COLUMN tool_rag.api_key.former_digest IS 'That of the key before the last rotation, which is good until former_until.';

COMMENT ON COLUMN tool_rag.api_key.identity IS 'On whose behalf calls are made: values of identity parameters by name.';

ALTER TABLE tool_rag.api_key ALTER COLUMN key_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.api_key_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.api_key_role (
    key_id integer NOT NULL,
    role_id integer NOT NULL
);

COMMENT ON TABLE tool_rag.api_key_role IS 'The roles a key asks with. A key whose roles were all removed sees nothing.';

CREATE TABLE tool_rag.audit_event (
    event_id bigint NOT NULL,
    happened_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    kind text NOT NULL,
    login text DEFAULT SESSION_USER NOT NULL,
    acting_role text DEFAULT NULLIF(current_setting('role'::text), 'none'::text),
    actor text DEFAULT NULLIF(current_setting('tool_rag.actor'::text, true), ''::text),
    roles text[],
    conversation text,
    outcome text NOT NULL,
    tools integer,
    tokens integer,
    milliseconds real,
    detail jsonb,
    CONSTRAINT audit_event_kind_check CHECK ((kind = ANY (ARRAY['search'::text, 'call'::text])))
);

COMMENT ON TABLE tool_rag.audit_event IS 'Searches and calls, as far as audit_setting.level has them recorded.';

COMMENT ON COLUMN tool_rag.audit_event.roles IS 'The roles asked with; null: those of the session.';

COMMENT ON COLUMN tool_rag.audit_event.outcome IS 'Of a search: found or empty. Of a call what the caller recorded: allowed, refused, confirmed, ...';

COMMENT ON COLUMN tool_rag.audit_event.tools IS 'How many tools the answer held.';

COMMENT ON COLUMN tool_rag.audit_event.tokens IS 'Their estimated tokens.';

COMMENT ON COLUMN tool_rag.audit_event.milliseconds IS 'How long it took in the server.';

COMMENT ON COLUMN tool_rag.audit_event.detail IS 'At the level full: the query and the tools it found, or the tool called and what was recorded of it.';

ALTER TABLE tool_rag.audit_event ALTER COLUMN event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.audit_event_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.catalogue_state (
    singleton boolean DEFAULT true NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    document_count integer DEFAULT 0 NOT NULL,
    total_length bigint DEFAULT 0 NOT NULL,
    CONSTRAINT catalogue_state_singleton_check CHECK (singleton)
);

COMMENT ON TABLE tool_rag.catalogue_state IS 'One row. Every transaction that edits the catalogue or access locks it first, so that derived rows (role_tool, posting, lexeme) are computed from all committed edits; searches never lock it.';

COMMENT ON COLUMN tool_rag.catalogue_state.version IS 'Grows with each edit of tools or access; a client may compare it instead of caching.';

COMMENT ON COLUMN tool_rag.catalogue_state.document_count IS 'Indexed tools (BM25''s N).';

COMMENT ON COLUMN tool_rag.catalogue_state.total_length IS 'Sum of document.length (N times BM25''s average length).';

CREATE TABLE tool_rag.change (
    change_id bigint NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    transaction_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
    login text DEFAULT SESSION_USER NOT NULL,
    acting_role text DEFAULT NULLIF(current_setting('role'::text), 'none'::text),
    actor text DEFAULT NULLIF(current_setting('tool_rag.actor'::text, true), ''::text),
    object text NOT NULL,
    object_id text NOT NULL,
    label text NOT NULL,
    action text NOT NULL,
    before jsonb,
    after jsonb,
    CONSTRAINT change_action_check CHECK ((action = ANY (ARRAY['insert'::text, 'update'::text, 'delete'::text]))),
    CONSTRAINT change_rows_check CHECK ((((before IS NULL) = (action = 'insert'::text)) AND ((after IS NULL) = (action = 'delete'::text))))
);

COMMENT ON TABLE tool_rag.change IS 'Every change of catalogue, wording and access, one row for each row changed, written by trigger in the same transaction, so also for plain SQL. Rows are only ever added; purge_audit takes old ones.';

COMMENT ON COLUMN tool_rag.change.changed_at IS 'When the statement ran. Edits are ordered one transaction after another, so change_id is their order.';

COMMENT ON COLUMN tool_rag.change.login IS 'The Postgres login (session_user).';

COMMENT ON COLUMN tool_rag.change.acting_role IS 'The Postgres role set by SET ROLE, if any.';

COMMENT ON COLUMN tool_rag.change.actor IS 'The person as the backend names them in the setting tool_rag.actor: a claim, not checked.';

COMMENT ON COLUMN tool_rag.change.object IS 'Which table.';

COMMENT ON COLUMN tool_rag.change.object_id IS 'The row''s key.';

COMMENT ON COLUMN tool_rag.change.label IS 'The row in words, as it was called then: names of what is gone stay readable.';

COMMENT ON COLUMN tool_rag.change.before IS 'The row before, without what triggers derive.';

COMMENT ON COLUMN tool_rag.change.after IS 'The row after, likewise.';

ALTER TABLE tool_rag.change ALTER COLUMN change_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.change_change_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.dependency (
    tool_id integer NOT NULL,
    needs_id integer NOT NULL,
    reason text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT dependency_check CHECK ((tool_id <> needs_id)),
    CONSTRAINT dependency_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000)))
);

COMMENT ON TABLE tool_rag.dependency IS 'What a tool can''t do without: a search that returns it returns, on top of k, what it needs, as far as the caller may see it. Cycles are refused.';

CREATE TABLE tool_rag.document (
    tool_id integer NOT NULL,
    length integer NOT NULL,
    lexeme_ids integer[] NOT NULL,
    frequencies real[] NOT NULL,
    CONSTRAINT document_frequencies_check CHECK ((cardinality(frequencies) = cardinality(lexeme_ids)))
);

COMMENT ON TABLE tool_rag.document IS 'The indexed tools and their length in weighted lexemes. Like posting it is written by trigger only and goes without foreign keys: the deletion of a tool subtracts its rows from the statistics.';

COMMENT ON COLUMN tool_rag.document.lexeme_ids IS 'Its lexemes, and in frequencies how often they occur: the postings of one tool in one row. With it a search scores a few tools at once, however common the request''s words are, and postings need no second index.';

ALTER TABLE tool_rag.embedding_model ALTER COLUMN model_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.embedding_model_model_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.example (
    example_id integer NOT NULL,
    tool_id integer NOT NULL,
    request text NOT NULL,
    origin text DEFAULT 'human'::text NOT NULL,
    lexemes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT example_origin_check CHECK ((origin = ANY (ARRAY['human'::text, 'generated'::text, 'feedback'::text]))),
    CONSTRAINT example_request_check CHECK (((length(request) >= 1) AND (length(request) <= 2000)))
);

COMMENT ON TABLE tool_rag.example IS 'Requests that a tool serves. Each has its own vector and lexemes; a tool scores by its best.';

COMMENT ON COLUMN tool_rag.example.origin IS 'Who wrote it: a person, a model, or a search whose result was used.';

COMMENT ON COLUMN tool_rag.example.lexemes IS 'The request as lexemes; set by trigger.';

ALTER TABLE tool_rag.example ALTER COLUMN example_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.example_example_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE tool_rag.grant_rule ALTER COLUMN grant_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.grant_rule_grant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.lexeme (
    lexeme_id integer NOT NULL,
    lexeme text NOT NULL,
    document_frequency integer NOT NULL,
    CONSTRAINT lexeme_document_frequency_check CHECK ((document_frequency >= 0))
);

COMMENT ON TABLE tool_rag.lexeme IS 'The lexemes of all tools, each with the number of tools it is in.';

ALTER TABLE tool_rag.lexeme ALTER COLUMN lexeme_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.lexeme_lexeme_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.login (
    login_id integer NOT NULL,
    name text NOT NULL,
    role_oid oid NOT NULL,
    is_bound boolean DEFAULT false NOT NULL,
    is_trusted boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT login_name_check CHECK ((name <> ''::text))
);

COMMENT ON TABLE tool_rag.login IS 'Logins (and group roles) of Postgres about which an admin has decided something. What is not here is neither bound nor trusted.';

COMMENT ON COLUMN tool_rag.login.role_oid IS 'Its number when the row was written. A binding holds for whoever has the name or the number, so that renaming a login or making it anew does not set it free; trust needs both.';

COMMENT ON COLUMN tool_rag.login.is_bound IS 'Whether it sees at most what its rows of login_role see together, which may be nothing.';

COMMENT ON COLUMN tool_rag.login.is_trusted IS 'Whether its argument "allowed" counts without roles, and its argument "roles" beside a token.';

ALTER TABLE tool_rag.login ALTER COLUMN login_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.login_login_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.login_role (
    login_id integer NOT NULL,
    role_id integer NOT NULL
);

COMMENT ON TABLE tool_rag.login_role IS 'The roles that bound logins have. A role that is removed leaves a binding to what is left.';

CREATE TABLE tool_rag.message (
    conversation text NOT NULL,
    turn integer NOT NULL,
    said text NOT NULL,
    said_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT message_conversation_check CHECK (((length(conversation) >= 1) AND (length(conversation) <= 256))),
    CONSTRAINT message_said_check CHECK ((length(said) <= 10000)),
    CONSTRAINT message_turn_check CHECK ((turn >= 0))
);

COMMENT ON TABLE tool_rag.message IS 'The last four requests of conversations whose backend keeps none itself (record_message), which the next search takes as its context.';

CREATE VIEW tool_rag.my_tools WITH (security_barrier='true') AS
 SELECT server,
    name,
    title,
    description,
    is_action,
    tokens
   FROM tool_rag.permitted_tools(NULL::text[], NULL::jsonb) p(server, name, title, description, is_action, tokens);

COMMENT ON VIEW tool_rag.my_tools IS 'The tools that this session may see now, by its setting tool_rag.roles, its token or its login.';

CREATE TABLE tool_rag.pending_tool (
    pending_id integer NOT NULL,
    server_id integer NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    definition jsonb NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    findings jsonb DEFAULT '[]'::jsonb NOT NULL,
    submitted_at timestamp with time zone DEFAULT now() NOT NULL,
    submitted_by text DEFAULT SESSION_USER NOT NULL,
    decided_at timestamp with time zone,
    decided_by text,
    note text,
    CONSTRAINT pending_tool_definition_check CHECK ((jsonb_typeof(definition) = 'object'::text)),
    CONSTRAINT pending_tool_findings_check CHECK ((jsonb_typeof(findings) = 'array'::text)),
    CONSTRAINT pending_tool_note_check CHECK (((length(note) >= 1) AND (length(note) <= 1000))),
    CONSTRAINT pending_tool_reason_check CHECK ((reason = ANY (ARRAY['review'::text, 'withhold'::text, 'refuse'::text, 'flagged'::text]))),
    CONSTRAINT pending_tool_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'refused'::text, 'rejected'::text])))
);

COMMENT ON TABLE tool_rag.pending_tool IS 'Versions of tools that their servers offer and that do not serve: no search reads this table.';

COMMENT ON COLUMN tool_rag.pending_tool.hash IS 'SHA-256 over the definition, by which a version is approved or rejected.';

COMMENT ON COLUMN tool_rag.pending_tool.definition IS 'The tool as exported; what an export says nothing of is left out.';

COMMENT ON COLUMN tool_rag.pending_tool.state IS 'waiting for a person, refused by the policy, or rejected by a person, which is remembered.';

COMMENT ON COLUMN tool_rag.pending_tool.reason IS 'The policy that holds it, or flagged: the linter''s findings do, of a server that is trusted.';

COMMENT ON COLUMN tool_rag.pending_tool.findings IS 'What the linter says of it: [{"rule", "severity", "field", "place", "excerpt"}].';

ALTER TABLE tool_rag.pending_tool ALTER COLUMN pending_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.pending_tool_pending_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.posting (
    lexeme_id integer NOT NULL,
    tool_id integer NOT NULL,
    frequency real NOT NULL,
    length integer NOT NULL
);

COMMENT ON TABLE tool_rag.posting IS 'Which lexeme stands in which tool. Frequency and length are all that BM25 needs, so that a search reads only this index. Written by trigger only, without foreign keys, whose checks would cost more than the rest of the index.';

COMMENT ON COLUMN tool_rag.posting.frequency IS 'Occurrences, each weighted by its field (BM25F; Robertson, Zaragoza and Taylor 2004).';

COMMENT ON COLUMN tool_rag.posting.length IS 'The tool''s document.length, repeated.';

CREATE TABLE tool_rag.ranking_setting (
    singleton boolean DEFAULT true NOT NULL,
    text_search_config regconfig DEFAULT 'english'::regconfig NOT NULL,
    bm25_k1 real DEFAULT 1.6 NOT NULL,
    bm25_b real DEFAULT 0.75 NOT NULL,
    name_weight real DEFAULT 2 NOT NULL,
    title_weight real DEFAULT 2 NOT NULL,
    description_weight real DEFAULT 1 NOT NULL,
    parameter_name_weight real DEFAULT 0.5 NOT NULL,
    parameter_description_weight real DEFAULT 0.5 NOT NULL,
    parameter_value_weight real DEFAULT 1 NOT NULL,
    server_weight real DEFAULT 0.25 NOT NULL,
    full_vector_weight real DEFAULT 1 NOT NULL,
    short_vector_weight real DEFAULT 0.5 NOT NULL,
    name_vector_weight real DEFAULT 0.2 NOT NULL,
    synonym_weight real DEFAULT 1 NOT NULL,
    CONSTRAINT ranking_setting_bm25_check CHECK (((bm25_k1 > (0)::double precision) AND ((bm25_b >= (0)::double precision) AND (bm25_b <= (1)::double precision)))),
    CONSTRAINT ranking_setting_singleton_check CHECK (singleton),
    CONSTRAINT ranking_setting_synonym_weight_check CHECK ((synonym_weight >= (0)::double precision)),
    CONSTRAINT ranking_setting_weight_check CHECK ((LEAST(name_weight, title_weight, description_weight, parameter_name_weight, parameter_description_weight, parameter_value_weight, server_weight, full_vector_weight, short_vector_weight, name_vector_weight) >= (0)::double precision))
);

COMMENT ON TABLE tool_rag.ranking_setting IS 'One row of parameters of the index. After an update the catalogue is indexed anew in the same transaction, except for bm25_k1 and bm25_b, which a search reads.';

COMMENT ON COLUMN tool_rag.ranking_setting.text_search_config IS 'Which text-search configuration turns tools and requests into lexemes.';

CREATE TABLE tool_rag.role (
    role_id integer NOT NULL,
    name text NOT NULL,
    description text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT role_name_check CHECK (((name <> ''::text) AND (length(name) <= 256) AND (name !~ '[,{}"]'::text))),
    CONSTRAINT role_role_id_check CHECK ((role_id > 0))
);

COMMENT ON TABLE tool_rag.role IS 'A role of the application''s users (not a Postgres role).';

CREATE TABLE tool_rag.role_parent (
    role_id integer NOT NULL,
    parent_id integer NOT NULL
);

COMMENT ON TABLE tool_rag.role_parent IS 'Inheritance: a role holds every rule of its parents, allows and denies. Cycles are refused.';

ALTER TABLE tool_rag.role ALTER COLUMN role_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.role_role_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.role_schedule (
    schedule_id integer NOT NULL,
    role_id integer NOT NULL,
    effect text NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    weekdays integer[],
    hours_from time(0) without time zone,
    hours_until time(0) without time zone,
    time_zone text,
    CONSTRAINT role_schedule_schedule_id_check CHECK ((schedule_id < 0))
);

COMMENT ON TABLE tool_rag.role_schedule IS 'The different schedules that a role''s own rules have, kept by triggers. To role_tool each is a role by itself, with the rules of that schedule; who holds the role holds it while it is in force. Never edit it.';

COMMENT ON COLUMN tool_rag.role_schedule.effect IS 'That of its rules: of a schedule that can''t be read, allows do not hold and denies do.';

ALTER TABLE tool_rag.role_schedule ALTER COLUMN schedule_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.role_schedule_schedule_id_seq
    START WITH -1
    INCREMENT BY -1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.role_tool (
    role_id integer NOT NULL,
    tool_id integer NOT NULL,
    server_id integer NOT NULL,
    grant_id integer,
    allow_until timestamp with time zone NOT NULL,
    deny_until timestamp with time zone NOT NULL
);

COMMENT ON TABLE tool_rag.role_tool IS 'grant_rule expanded over inheritance, patterns and enabled tools; kept exact by triggers in the transaction of the edit. Never edit it.';

COMMENT ON COLUMN tool_rag.role_tool.role_id IS 'A role, or below zero a schedule of one (role_schedule).';

COMMENT ON COLUMN tool_rag.role_tool.grant_id IS 'The allow that lasts longest (the lowest id among equals): what a result names as its grant.';

COMMENT ON COLUMN tool_rag.role_tool.allow_until IS 'Latest end of the allows, -infinity where there is none.';

COMMENT ON COLUMN tool_rag.role_tool.deny_until IS 'Latest end of the denies, -infinity where there is none.';

ALTER TABLE tool_rag.server ALTER COLUMN server_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.server_server_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.synonym (
    synonym_id integer NOT NULL,
    tool_id integer,
    term text,
    words text NOT NULL,
    term_lexemes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT synonym_check CHECK ((num_nonnulls(tool_id, term) = 1)),
    CONSTRAINT synonym_term_check CHECK (((length(term) >= 1) AND (length(term) <= 200))),
    CONSTRAINT synonym_words_check CHECK (((length(words) >= 1) AND (length(words) <= 1000)))
);

COMMENT ON TABLE tool_rag.synonym IS 'Words that people use: for one tool (tool_id), or for a term in any request (term). They count in the search after the transaction that wrote them.';

COMMENT ON COLUMN tool_rag.synonym.term_lexemes IS 'The term as lexemes, all of which a request must hold; set by trigger.';

ALTER TABLE tool_rag.synonym ALTER COLUMN synonym_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.synonym_synonym_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.tool (
    tool_id integer NOT NULL,
    server_id integer NOT NULL,
    name text NOT NULL,
    title text,
    description text DEFAULT ''::text NOT NULL,
    input_schema jsonb DEFAULT '{"type": "object", "properties": {}}'::jsonb NOT NULL,
    output_schema jsonb,
    annotations jsonb DEFAULT '{}'::jsonb NOT NULL,
    is_action boolean,
    identity_parameters text[] DEFAULT '{}'::text[] NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    content_hash bytea NOT NULL,
    token_count integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    withheld boolean DEFAULT false NOT NULL,
    CONSTRAINT tool_annotations_check CHECK ((jsonb_typeof(annotations) = 'object'::text)),
    CONSTRAINT tool_input_schema_check CHECK ((jsonb_typeof(input_schema) = 'object'::text)),
    CONSTRAINT tool_is_action_check CHECK ((is_action IS NOT NULL)),
    CONSTRAINT tool_name_check CHECK (((name <> ''::text) AND (length(name) <= 256))),
    CONSTRAINT tool_output_schema_check CHECK ((jsonb_typeof(output_schema) = 'object'::text))
);

COMMENT ON TABLE tool_rag.tool IS 'One tool as its server describes it. Ranking data follows every edit in the same transaction.';

COMMENT ON COLUMN tool_rag.tool.input_schema IS 'JSON Schema of the arguments.';

COMMENT ON COLUMN tool_rag.tool.annotations IS 'MCP tool annotations, as exported.';

COMMENT ON COLUMN tool_rag.tool.is_action IS 'Whether a call changes something. Left null it is taken from annotations.readOnlyHint and destructiveHint; where these say nothing a tool counts as an action, as the MCP default has it.';

COMMENT ON COLUMN tool_rag.tool.identity_parameters IS 'Arguments that say on whose behalf a call is made, to be filled by the caller''s backend.';

COMMENT ON COLUMN tool_rag.tool.content_hash IS 'SHA-256 over everything a server exports for the tool; set by trigger.';

COMMENT ON COLUMN tool_rag.tool.token_count IS 'Estimated tokens of the definition as a model receives it (docs/design.md states the error); set by trigger.';

COMMENT ON COLUMN tool_rag.tool.withheld IS 'Whether the server offers another version that was not approved, under the policy withhold; the tool is hidden meanwhile.';

CREATE TABLE tool_rag.tool_name (
    tool_id integer NOT NULL,
    folded text NOT NULL COLLATE pg_catalog."C",
    signature bit(256) NOT NULL,
    skeleton text GENERATED ALWAYS AS (replace(replace(translate(translate(NORMALIZE(folded, NFKC), 'авгеснкмортухіјѕԁһӏԛԝпѡьѵґєѐиэαβγεηικμνορστυχωϲϳϱϰոօսհցյղզաıɩɪȷɡɢɑʟʀƒɴɓɗɦŧłøđħᴀʙᴄᴅᴇʜᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡʏᴢɛʋʃꞁǀABCDEFGHIJKLMNOPQRSTUVWXYZ'::text, 'abrechkmoptyxijsdhlqwnwbvreeueabyenikuvopotuxwcjpknouhgjnqwiiijggalrfnbdhtlodhabcdehjkmopstuvwyzeufllabcdefghijklmnopqrstuvwxyz'::text), '01i'::text, 'oll'::text), 'rn'::text, 'm'::text), 'vv'::text, 'w'::text)) STORED NOT NULL COLLATE pg_catalog."C"
);

COMMENT ON TABLE tool_rag.tool_name IS 'The names of tools as a misspelt name is compared with them, in rows narrow enough to read all. Written by trigger only.';

COMMENT ON COLUMN tool_rag.tool_name.folded IS 'The name without case, accents and separators.';

COMMENT ON COLUMN tool_rag.tool_name.signature IS 'Its pairs of characters as bits.';

COMMENT ON COLUMN tool_rag.tool_name.skeleton IS 'The folded name with what looks alike made the same: get_0rder and get_order have one skeleton.';

CREATE TABLE tool_rag.tool_sent (
    conversation text NOT NULL,
    place integer NOT NULL,
    tool_id integer NOT NULL,
    sent_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT tool_sent_conversation_check CHECK (((length(conversation) >= 1) AND (length(conversation) <= 256)))
);

COMMENT ON TABLE tool_rag.tool_sent IS 'Which tools a conversation''s model was given, in order. With the option "keep_order" a search keeps them in place, so that a prompt cache holds.';

ALTER TABLE tool_rag.tool ALTER COLUMN tool_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tool_rag.tool_tool_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tool_rag.tool_use (
    conversation text NOT NULL,
    turn integer NOT NULL,
    tool_id integer NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT tool_use_conversation_check CHECK (((length(conversation) >= 1) AND (length(conversation) <= 256))),
    CONSTRAINT tool_use_turn_check CHECK ((turn >= 0))
);

COMMENT ON TABLE tool_rag.tool_use IS 'Which tools a conversation used in which of its assistant turns; those of the last three stay in its shortlists.';

CREATE TABLE tool_rag.tool_vector (
    tool_id integer NOT NULL,
    model_id integer NOT NULL,
    kind text NOT NULL,
    source_id integer DEFAULT 0 NOT NULL,
    embedding public.halfvec NOT NULL,
    source_hash bytea,
    CONSTRAINT tool_vector_kind_check CHECK ((kind = ANY (ARRAY['definition'::text, 'synonym'::text, 'example'::text])))
);

COMMENT ON TABLE tool_rag.tool_vector IS 'Vectors of tools. A tool''s definition has one: the weighted sum of the unit vectors of its full text, its short text and its name, whose inner product with a request''s vector is the weighted sum of the three cosines. Each synonym line and each example has one too, of a length that makes its inner products comparable.';

COMMENT ON COLUMN tool_rag.tool_vector.source_id IS 'Which of several texts of one kind.';

COMMENT ON COLUMN tool_rag.tool_vector.source_hash IS 'Hash of the text and the prompt that were embedded; null for the built-in model, whose vectors follow every edit.';

CREATE TABLE tool_rag.word_piece (
    piece text NOT NULL COLLATE pg_catalog."C",
    embedding public.halfvec(256) NOT NULL
);

COMMENT ON TABLE tool_rag.word_piece IS 'The built-in model: word pieces ("##" begins a continuation) and their vectors.';

ALTER TABLE ONLY tool_rag.access_setting
    ADD CONSTRAINT access_setting_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY tool_rag.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

ALTER TABLE ONLY tool_rag.api_key
    ADD CONSTRAINT api_key_name_key UNIQUE (name);

ALTER TABLE ONLY tool_rag.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY tool_rag.api_key
    ADD CONSTRAINT api_key_public_id_key UNIQUE (public_id);

ALTER TABLE ONLY tool_rag.api_key_role
    ADD CONSTRAINT api_key_role_pkey PRIMARY KEY (key_id, role_id);

ALTER TABLE ONLY tool_rag.audit_event
    ADD CONSTRAINT audit_event_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY tool_rag.audit_setting
    ADD CONSTRAINT audit_setting_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY tool_rag.catalogue_state
    ADD CONSTRAINT catalogue_state_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY tool_rag.change
    ADD CONSTRAINT change_pkey PRIMARY KEY (change_id);

ALTER TABLE ONLY tool_rag.dependency
    ADD CONSTRAINT dependency_pkey PRIMARY KEY (tool_id, needs_id);

ALTER TABLE ONLY tool_rag.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (tool_id);

ALTER TABLE ONLY tool_rag.embedding_model
    ADD CONSTRAINT embedding_model_name_key UNIQUE (name);

ALTER TABLE ONLY tool_rag.embedding_model
    ADD CONSTRAINT embedding_model_pkey PRIMARY KEY (model_id);

ALTER TABLE ONLY tool_rag.example
    ADD CONSTRAINT example_key UNIQUE (tool_id, request);

ALTER TABLE ONLY tool_rag.example
    ADD CONSTRAINT example_pkey PRIMARY KEY (example_id);

ALTER TABLE ONLY tool_rag.grant_rule
    ADD CONSTRAINT grant_rule_key UNIQUE NULLS NOT DISTINCT (role_id, server_pattern, tool_pattern, effect, schedule_id);

ALTER TABLE ONLY tool_rag.grant_rule
    ADD CONSTRAINT grant_rule_pkey PRIMARY KEY (grant_id);

ALTER TABLE ONLY tool_rag.lexeme
    ADD CONSTRAINT lexeme_lexeme_key UNIQUE (lexeme);

ALTER TABLE ONLY tool_rag.lexeme
    ADD CONSTRAINT lexeme_pkey PRIMARY KEY (lexeme_id);

ALTER TABLE ONLY tool_rag.login
    ADD CONSTRAINT login_name_key UNIQUE (name);

ALTER TABLE ONLY tool_rag.login
    ADD CONSTRAINT login_pkey PRIMARY KEY (login_id);

ALTER TABLE ONLY tool_rag.login_role
    ADD CONSTRAINT login_role_pkey PRIMARY KEY (login_id, role_id);

ALTER TABLE ONLY tool_rag.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (conversation, turn);

ALTER TABLE ONLY tool_rag.pending_tool
    ADD CONSTRAINT pending_tool_key UNIQUE (server_id, name, hash);

ALTER TABLE ONLY tool_rag.pending_tool
    ADD CONSTRAINT pending_tool_pkey PRIMARY KEY (pending_id);

ALTER TABLE ONLY tool_rag.posting
    ADD CONSTRAINT posting_pkey PRIMARY KEY (lexeme_id, tool_id) INCLUDE (frequency, length);

ALTER TABLE ONLY tool_rag.ranking_setting
    ADD CONSTRAINT ranking_setting_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY tool_rag.review_setting
    ADD CONSTRAINT review_setting_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY tool_rag.role
    ADD CONSTRAINT role_name_key UNIQUE (name);

ALTER TABLE ONLY tool_rag.role_parent
    ADD CONSTRAINT role_parent_pkey PRIMARY KEY (role_id, parent_id);

ALTER TABLE ONLY tool_rag.role
    ADD CONSTRAINT role_pkey PRIMARY KEY (role_id);

ALTER TABLE ONLY tool_rag.role_schedule
    ADD CONSTRAINT role_schedule_key UNIQUE NULLS NOT DISTINCT (role_id, effect, valid_from, weekdays, hours_from, hours_until, time_zone);

ALTER TABLE ONLY tool_rag.role_schedule
    ADD CONSTRAINT role_schedule_pkey PRIMARY KEY (schedule_id);

ALTER TABLE ONLY tool_rag.role_tool
    ADD CONSTRAINT role_tool_pkey PRIMARY KEY (tool_id, role_id) INCLUDE (server_id, grant_id, allow_until, deny_until);

ALTER TABLE ONLY tool_rag.server
    ADD CONSTRAINT server_name_key UNIQUE (name);

ALTER TABLE ONLY tool_rag.server
    ADD CONSTRAINT server_pkey PRIMARY KEY (server_id);

ALTER TABLE ONLY tool_rag.synonym
    ADD CONSTRAINT synonym_key UNIQUE NULLS NOT DISTINCT (tool_id, term, words);

ALTER TABLE ONLY tool_rag.synonym
    ADD CONSTRAINT synonym_pkey PRIMARY KEY (synonym_id);

ALTER TABLE ONLY tool_rag.tool_name
    ADD CONSTRAINT tool_name_pkey PRIMARY KEY (tool_id);

ALTER TABLE ONLY tool_rag.tool
    ADD CONSTRAINT tool_pkey PRIMARY KEY (tool_id);

ALTER TABLE ONLY tool_rag.tool_sent
    ADD CONSTRAINT tool_sent_pkey PRIMARY KEY (conversation, tool_id);

ALTER TABLE ONLY tool_rag.tool
    ADD CONSTRAINT tool_server_id_name_key UNIQUE (server_id, name);

ALTER TABLE ONLY tool_rag.tool_use
    ADD CONSTRAINT tool_use_pkey PRIMARY KEY (conversation, turn, tool_id);

ALTER TABLE ONLY tool_rag.tool_vector
    ADD CONSTRAINT tool_vector_pkey PRIMARY KEY (model_id, tool_id, kind, source_id);

ALTER TABLE ONLY tool_rag.word_piece
    ADD CONSTRAINT word_piece_pkey PRIMARY KEY (piece);

CREATE INDEX api_key_role_role_id_idx ON tool_rag.api_key_role USING btree (role_id);

CREATE INDEX audit_event_happened_at_idx ON tool_rag.audit_event USING btree (happened_at);

CREATE INDEX change_changed_at_idx ON tool_rag.change USING btree (changed_at);

CREATE INDEX change_object_id_idx ON tool_rag.change USING btree (object, object_id, change_id);

CREATE INDEX dependency_needs_id_idx ON tool_rag.dependency USING btree (needs_id);

CREATE UNIQUE INDEX embedding_model_active_idx ON tool_rag.embedding_model USING btree (is_active) WHERE is_active;

CREATE INDEX grant_rule_schedule_id_idx ON tool_rag.grant_rule USING btree (schedule_id) WHERE (schedule_id IS NOT NULL);

CREATE INDEX login_role_role_id_idx ON tool_rag.login_role USING btree (role_id);

CREATE UNIQUE INDEX pending_tool_offered_idx ON tool_rag.pending_tool USING btree (server_id, name) WHERE (state <> 'rejected'::text);

CREATE INDEX role_parent_parent_id_idx ON tool_rag.role_parent USING btree (parent_id);

CREATE INDEX role_tool_role_id_idx ON tool_rag.role_tool USING btree (role_id, tool_id) INCLUDE (server_id, grant_id, allow_until, deny_until);

CREATE INDEX synonym_term_lexemes_idx ON tool_rag.synonym USING gin (term_lexemes) WHERE (term IS NOT NULL);

CREATE INDEX tool_name_folded_idx ON tool_rag.tool_name USING btree (folded);

CREATE INDEX tool_name_skeleton_idx ON tool_rag.tool_name USING btree (skeleton);

CREATE INDEX tool_sent_tool_id_idx ON tool_rag.tool_sent USING btree (tool_id);

CREATE INDEX tool_use_tool_id_idx ON tool_rag.tool_use USING btree (tool_id);

CREATE INDEX tool_vector_definition_idx ON tool_rag.tool_vector USING hnsw (((embedding)::public.halfvec(256)) public.halfvec_ip_ops) WITH (ef_construction='128') WHERE ((model_id = 1) AND (kind = 'definition'::text));

CREATE INDEX tool_vector_tool_id_idx ON tool_rag.tool_vector USING btree (tool_id);

CREATE INDEX tool_vector_wording_idx ON tool_rag.tool_vector USING hnsw (((embedding)::public.halfvec(256)) public.halfvec_ip_ops) WITH (ef_construction='128') WHERE ((model_id = 1) AND (kind <> 'definition'::text));

CREATE TRIGGER audit_event_before_edit BEFORE DELETE OR UPDATE OR TRUNCATE ON tool_rag.audit_event FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._refuse_audit_edit();

CREATE TRIGGER change_before_edit BEFORE DELETE OR UPDATE OR TRUNCATE ON tool_rag.change FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._refuse_audit_edit();

CREATE TRIGGER dependency_after_insert AFTER INSERT ON tool_rag.dependency REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_dependency_write();

CREATE TRIGGER dependency_after_update AFTER UPDATE ON tool_rag.dependency REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_dependency_write();

CREATE TRIGGER dependency_before_edit BEFORE INSERT OR UPDATE ON tool_rag.dependency FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER example_after_delete AFTER DELETE ON tool_rag.example REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_example_delete();

CREATE TRIGGER example_after_insert AFTER INSERT ON tool_rag.example REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_example_write();

CREATE TRIGGER example_after_truncate AFTER TRUNCATE ON tool_rag.example FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_wording_truncate();

CREATE TRIGGER example_after_update_old AFTER UPDATE ON tool_rag.example REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_example_delete();

CREATE TRIGGER example_after_update_zz_new AFTER UPDATE ON tool_rag.example REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_example_write();

CREATE TRIGGER example_before_edit BEFORE INSERT OR DELETE OR UPDATE ON tool_rag.example FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER example_before_truncate BEFORE TRUNCATE ON tool_rag.example FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER example_before_write BEFORE INSERT OR UPDATE ON tool_rag.example FOR EACH ROW EXECUTE FUNCTION tool_rag._before_example_write();

CREATE TRIGGER grant_rule_after_delete AFTER DELETE ON tool_rag.grant_rule REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_grant_rule_change();

CREATE TRIGGER grant_rule_after_insert AFTER INSERT ON tool_rag.grant_rule REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_grant_rule_change();

CREATE TRIGGER grant_rule_after_truncate AFTER TRUNCATE ON tool_rag.grant_rule FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_grant_rule_change();

CREATE TRIGGER grant_rule_after_update_new AFTER UPDATE ON tool_rag.grant_rule REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_grant_rule_change();

CREATE TRIGGER grant_rule_after_update_old AFTER UPDATE ON tool_rag.grant_rule REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_grant_rule_change();

CREATE TRIGGER grant_rule_before_edit BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON tool_rag.grant_rule FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER grant_rule_before_write BEFORE INSERT OR UPDATE ON tool_rag.grant_rule FOR EACH ROW WHEN (((new.valid_from > '-infinity'::timestamp with time zone) OR (new.schedule_id IS NOT NULL) OR (num_nonnulls(new.weekdays, new.hours_from, new.hours_until, new.time_zone) > 0))) EXECUTE FUNCTION tool_rag._before_grant_rule_write();

CREATE TRIGGER ranking_setting_after_update AFTER UPDATE ON tool_rag.ranking_setting REFERENCING OLD TABLE AS old_setting NEW TABLE AS new_setting FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_ranking_setting_update();

CREATE TRIGGER ranking_setting_before_edit BEFORE UPDATE ON tool_rag.ranking_setting FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER role_after_delete AFTER DELETE ON tool_rag.role REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_role_delete();

CREATE TRIGGER role_before_edit BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON tool_rag.role FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER role_parent_after_delete AFTER DELETE ON tool_rag.role_parent REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_role_parent_change();

CREATE TRIGGER role_parent_after_insert AFTER INSERT ON tool_rag.role_parent REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_role_parent_change();

CREATE TRIGGER role_parent_after_truncate AFTER TRUNCATE ON tool_rag.role_parent FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_role_parent_change();

CREATE TRIGGER role_parent_after_update_new AFTER UPDATE ON tool_rag.role_parent REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_role_parent_change();

CREATE TRIGGER role_parent_after_update_old AFTER UPDATE ON tool_rag.role_parent REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_role_parent_change();

CREATE TRIGGER role_parent_before_edit BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON tool_rag.role_parent FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER role_schedule_after_delete AFTER DELETE ON tool_rag.role_schedule REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_role_schedule_delete();

CREATE TRIGGER server_after_update AFTER UPDATE ON tool_rag.server REFERENCING OLD TABLE AS old_server NEW TABLE AS new_server FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_server_update();

CREATE TRIGGER server_before_edit BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON tool_rag.server FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER synonym_after_delete AFTER DELETE ON tool_rag.synonym REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_synonym_change();

CREATE TRIGGER synonym_after_insert AFTER INSERT ON tool_rag.synonym REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_synonym_change();

CREATE TRIGGER synonym_after_truncate AFTER TRUNCATE ON tool_rag.synonym FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_wording_truncate();

CREATE TRIGGER synonym_after_update_new AFTER UPDATE ON tool_rag.synonym REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_synonym_change();

CREATE TRIGGER synonym_after_update_old AFTER UPDATE ON tool_rag.synonym REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_synonym_change();

CREATE TRIGGER synonym_before_edit BEFORE INSERT OR DELETE OR UPDATE ON tool_rag.synonym FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER synonym_before_truncate BEFORE TRUNCATE ON tool_rag.synonym FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER synonym_before_write BEFORE INSERT OR UPDATE ON tool_rag.synonym FOR EACH ROW EXECUTE FUNCTION tool_rag._before_synonym_write();

CREATE TRIGGER tool_after_delete AFTER DELETE ON tool_rag.tool REFERENCING OLD TABLE AS old_tool FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_tool_delete();

CREATE TRIGGER tool_after_insert AFTER INSERT ON tool_rag.tool REFERENCING NEW TABLE AS new_tool FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_tool_insert();

CREATE TRIGGER tool_after_truncate AFTER TRUNCATE ON tool_rag.tool FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_tool_truncate();

CREATE TRIGGER tool_after_update AFTER UPDATE ON tool_rag.tool REFERENCING OLD TABLE AS old_tool NEW TABLE AS new_tool FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._after_tool_update();

CREATE TRIGGER tool_before_edit BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON tool_rag.tool FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._before_edit();

CREATE TRIGGER tool_before_write BEFORE INSERT OR UPDATE ON tool_rag.tool FOR EACH ROW EXECUTE FUNCTION tool_rag._before_tool_write();

CREATE TRIGGER zz_access_setting_audit_delete BEFORE DELETE ON tool_rag.access_setting FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_access_setting_audit_insert AFTER INSERT ON tool_rag.access_setting REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_access_setting_audit_truncate BEFORE TRUNCATE ON tool_rag.access_setting FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_access_setting_audit_update AFTER UPDATE ON tool_rag.access_setting REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_api_key_audit_delete BEFORE DELETE ON tool_rag.api_key FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_api_key_audit_insert AFTER INSERT ON tool_rag.api_key REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_api_key_audit_truncate BEFORE TRUNCATE ON tool_rag.api_key FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_api_key_audit_update AFTER UPDATE ON tool_rag.api_key REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_api_key_role_audit_delete BEFORE DELETE ON tool_rag.api_key_role FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_api_key_role_audit_insert AFTER INSERT ON tool_rag.api_key_role REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_api_key_role_audit_truncate BEFORE TRUNCATE ON tool_rag.api_key_role FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_api_key_role_audit_update AFTER UPDATE ON tool_rag.api_key_role REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_audit_setting_audit_delete BEFORE DELETE ON tool_rag.audit_setting FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_audit_setting_audit_insert AFTER INSERT ON tool_rag.audit_setting REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_audit_setting_audit_truncate BEFORE TRUNCATE ON tool_rag.audit_setting FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_audit_setting_audit_update AFTER UPDATE ON tool_rag.audit_setting REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_dependency_audit_delete BEFORE DELETE ON tool_rag.dependency FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_dependency_audit_insert AFTER INSERT ON tool_rag.dependency REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_dependency_audit_truncate BEFORE TRUNCATE ON tool_rag.dependency FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_dependency_audit_update AFTER UPDATE ON tool_rag.dependency REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_example_audit_delete BEFORE DELETE ON tool_rag.example FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_example_audit_insert AFTER INSERT ON tool_rag.example REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_example_audit_truncate BEFORE TRUNCATE ON tool_rag.example FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_example_audit_update AFTER UPDATE ON tool_rag.example REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_grant_rule_audit_delete BEFORE DELETE ON tool_rag.grant_rule FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_grant_rule_audit_insert AFTER INSERT ON tool_rag.grant_rule REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_grant_rule_audit_truncate BEFORE TRUNCATE ON tool_rag.grant_rule FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_grant_rule_audit_update AFTER UPDATE ON tool_rag.grant_rule REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_login_audit_delete BEFORE DELETE ON tool_rag.login FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_login_audit_insert AFTER INSERT ON tool_rag.login REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_login_audit_truncate BEFORE TRUNCATE ON tool_rag.login FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_login_audit_update AFTER UPDATE ON tool_rag.login REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_login_role_audit_delete BEFORE DELETE ON tool_rag.login_role FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_login_role_audit_insert AFTER INSERT ON tool_rag.login_role REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_login_role_audit_truncate BEFORE TRUNCATE ON tool_rag.login_role FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_login_role_audit_update AFTER UPDATE ON tool_rag.login_role REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_pending_tool_audit_delete BEFORE DELETE ON tool_rag.pending_tool FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_pending_tool_audit_insert AFTER INSERT ON tool_rag.pending_tool REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_pending_tool_audit_truncate BEFORE TRUNCATE ON tool_rag.pending_tool FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_pending_tool_audit_update AFTER UPDATE ON tool_rag.pending_tool REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_ranking_setting_audit_delete BEFORE DELETE ON tool_rag.ranking_setting FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_ranking_setting_audit_insert AFTER INSERT ON tool_rag.ranking_setting REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_ranking_setting_audit_truncate BEFORE TRUNCATE ON tool_rag.ranking_setting FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_ranking_setting_audit_update AFTER UPDATE ON tool_rag.ranking_setting REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_review_setting_audit_delete BEFORE DELETE ON tool_rag.review_setting FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_review_setting_audit_insert AFTER INSERT ON tool_rag.review_setting REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_review_setting_audit_truncate BEFORE TRUNCATE ON tool_rag.review_setting FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_review_setting_audit_update AFTER UPDATE ON tool_rag.review_setting REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_role_audit_delete BEFORE DELETE ON tool_rag.role FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_role_audit_insert AFTER INSERT ON tool_rag.role REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_role_audit_truncate BEFORE TRUNCATE ON tool_rag.role FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_role_audit_update AFTER UPDATE ON tool_rag.role REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_role_parent_audit_delete BEFORE DELETE ON tool_rag.role_parent FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_role_parent_audit_insert AFTER INSERT ON tool_rag.role_parent REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_role_parent_audit_truncate BEFORE TRUNCATE ON tool_rag.role_parent FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_role_parent_audit_update AFTER UPDATE ON tool_rag.role_parent REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_server_audit_delete BEFORE DELETE ON tool_rag.server FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_server_audit_insert AFTER INSERT ON tool_rag.server REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_server_audit_truncate BEFORE TRUNCATE ON tool_rag.server FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_server_audit_update AFTER UPDATE ON tool_rag.server REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_synonym_audit_delete BEFORE DELETE ON tool_rag.synonym FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_synonym_audit_insert AFTER INSERT ON tool_rag.synonym REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_synonym_audit_truncate BEFORE TRUNCATE ON tool_rag.synonym FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_synonym_audit_update AFTER UPDATE ON tool_rag.synonym REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

CREATE TRIGGER zz_tool_audit_delete BEFORE DELETE ON tool_rag.tool FOR EACH ROW EXECUTE FUNCTION tool_rag._record_delete();

CREATE TRIGGER zz_tool_audit_insert AFTER INSERT ON tool_rag.tool REFERENCING NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_insert();

CREATE TRIGGER zz_tool_audit_truncate BEFORE TRUNCATE ON tool_rag.tool FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_truncate();

CREATE TRIGGER zz_tool_audit_update AFTER UPDATE ON tool_rag.tool REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row FOR EACH STATEMENT EXECUTE FUNCTION tool_rag._record_update();

ALTER TABLE ONLY tool_rag.api_key_role
    ADD CONSTRAINT api_key_role_key_id_fkey FOREIGN KEY (key_id) REFERENCES tool_rag.api_key(key_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.api_key_role
    ADD CONSTRAINT api_key_role_role_id_fkey FOREIGN KEY (role_id) REFERENCES tool_rag.role(role_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.dependency
    ADD CONSTRAINT dependency_needs_id_fkey FOREIGN KEY (needs_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.dependency
    ADD CONSTRAINT dependency_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.example
    ADD CONSTRAINT example_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.grant_rule
    ADD CONSTRAINT grant_rule_role_id_fkey FOREIGN KEY (role_id) REFERENCES tool_rag.role(role_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.grant_rule
    ADD CONSTRAINT grant_rule_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES tool_rag.role_schedule(schedule_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.login_role
    ADD CONSTRAINT login_role_login_id_fkey FOREIGN KEY (login_id) REFERENCES tool_rag.login(login_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.login_role
    ADD CONSTRAINT login_role_role_id_fkey FOREIGN KEY (role_id) REFERENCES tool_rag.role(role_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.pending_tool
    ADD CONSTRAINT pending_tool_server_id_fkey FOREIGN KEY (server_id) REFERENCES tool_rag.server(server_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.role_parent
    ADD CONSTRAINT role_parent_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES tool_rag.role(role_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.role_parent
    ADD CONSTRAINT role_parent_role_id_fkey FOREIGN KEY (role_id) REFERENCES tool_rag.role(role_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.role_schedule
    ADD CONSTRAINT role_schedule_role_id_fkey FOREIGN KEY (role_id) REFERENCES tool_rag.role(role_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.role_tool
    ADD CONSTRAINT role_tool_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.synonym
    ADD CONSTRAINT synonym_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.tool_name
    ADD CONSTRAINT tool_name_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.tool_sent
    ADD CONSTRAINT tool_sent_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.tool
    ADD CONSTRAINT tool_server_id_fkey FOREIGN KEY (server_id) REFERENCES tool_rag.server(server_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.tool_use
    ADD CONSTRAINT tool_use_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.tool_vector
    ADD CONSTRAINT tool_vector_model_id_fkey FOREIGN KEY (model_id) REFERENCES tool_rag.embedding_model(model_id) ON DELETE CASCADE;

ALTER TABLE ONLY tool_rag.tool_vector
    ADD CONSTRAINT tool_vector_tool_id_fkey FOREIGN KEY (tool_id) REFERENCES tool_rag.tool(tool_id) ON DELETE CASCADE;

ALTER TABLE tool_rag.access_setting ENABLE ROW LEVEL SECURITY;

CREATE POLICY admin ON tool_rag.access_setting TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.alembic_version TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.api_key_role TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.audit_event TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.audit_setting TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.catalogue_state TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.change TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.dependency TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.document TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.embedding_model TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.example TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.grant_rule TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.lexeme TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.login TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.login_role TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.message TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.pending_tool TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.posting TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.ranking_setting TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.review_setting TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.role TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.role_parent TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.role_schedule TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.role_tool TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.server TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.synonym TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.tool TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.tool_name TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.tool_sent TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.tool_use TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.tool_vector TO tool_rag_admin USING (true) WITH CHECK (true);

CREATE POLICY admin ON tool_rag.word_piece TO tool_rag_admin USING (true) WITH CHECK (true);

ALTER TABLE tool_rag.alembic_version ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.api_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.api_key_role ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.audit_event ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.audit_setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.catalogue_state ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.change ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.dependency ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.document ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.embedding_model ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.example ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.grant_rule ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.lexeme ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.login ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.login_role ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.message ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.pending_tool ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.posting ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.ranking_setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.review_setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.role ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.role_parent ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.role_schedule ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.role_tool ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.server ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.synonym ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.tool ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.tool_name ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.tool_sent ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.tool_use ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.tool_vector ENABLE ROW LEVEL SECURITY;

ALTER TABLE tool_rag.word_piece ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA tool_rag TO tool_rag_reader;
GRANT USAGE ON SCHEMA tool_rag TO tool_rag_editor;
GRANT USAGE ON SCHEMA tool_rag TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag._access_at(p_time timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._access_of(p_login oid) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_dependency_write() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_example_delete() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_example_write() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_grant_rule_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_ranking_setting_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_role_delete() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_role_parent_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_role_schedule_delete() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_server_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_synonym_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_tool_delete() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_tool_insert() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_tool_truncate() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_tool_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._after_wording_truncate() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._allowed_ids(p_allowed jsonb, p_server_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._apply_privileges(p_create boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._audited_key(p_object text, p_row jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._audited_label(p_object text, p_row jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._audited_row(p_row jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._before_edit() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._before_example_write() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._before_grant_rule_write() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._before_synonym_write() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._before_tool_write() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._caller(p_roles text[], p_allowed jsonb, p_server_ids integer[], OUT role_ids integer[], OUT gate integer[], OUT named_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._candidates(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_base double precision, p_slope double precision, p_embedding public.halfvec, p_model_id integer, p_model_vector public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_depth integer, p_exact boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._carry_marks(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._changed_tools(p_server_id integer, p_tools jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._check_allowed(p_allowed jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._check_digest(p_digest bytea) FROM PUBLIC;

GRANT SELECT ON TABLE tool_rag.embedding_model TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag._check_embedding(p_embedding public.vector, p_model text, OUT model tool_rag.embedding_model, OUT vector public.halfvec) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._check_rules(p_rules jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._check_search(p_query text, p_k integer, p_context text[], p_token_budget integer, p_min_relevance double precision, p_options jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._check_unbound() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._common_tools(p_groups text[], p_allowed jsonb, p_server_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._content_hash(p_title text, p_description text, p_input_schema jsonb, p_output_schema jsonb, p_annotations jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._descendants(p_role_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._drop_groups(p_login oid, p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._embed_wording(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._estimate_tokens(p_name text, p_description text, p_input_schema jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._expand_access(p_role_ids integer[], p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._expand_needs(p_tool_ids integer[], p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_depth integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._explain_hits(p_tool_ids integer[], p_needed_by integer[], p_needs text[], p_turns integer[], p_sent_places integer[], p_scores double precision[], p_relevances double precision[], p_requests integer[], p_word_places integer[], p_word_scores double precision[], p_meaning_places integer[], p_model_places integer[], p_model_scores double precision[], p_model text, p_kept integer[], p_texts text[], p_kinds text[], p_vectors public.halfvec[], p_expansions text[], p_lexeme_ids integer[], p_words text[], p_word_requests integer[], p_terms text[], p_term_requests integer[], p_role_ids integer[], p_gate integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_called(p_servers text[], p_tools text[], p_roles text[], p_allowed jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_companions(p_tool_ids integer[], p_conversation text, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_options jsonb, OUT tool_ids integer[], OUT needed_by integer[], OUT needs text[], OUT turns integer[], OUT sent_places integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_flaws(p_server text, p_changed jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_key(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_login(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_model(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_named(p_text text, p_tool_ids integer[], p_mode text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_places(p_role text, p_server_id integer, p_names text[], p_requests text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_role(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_tool(p_server text, p_tool text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_visible(p_servers text[], p_tools text[], p_role_ids integer[], p_gate integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_winners(p_server_id integer, p_changed jsonb, p_findings jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._find_zone(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._fit_budget(p_tool_ids integer[], p_needed_by integer[], p_budget integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._fold_marks(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._fold_name(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._groups_of(p_login oid) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._held_roles(p_role_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._identifier_words(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._index_examples(p_example_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._index_lexemes(p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._index_names(p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._index_tools(p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._index_vectors(p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._is_action(p_annotations jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._is_ascii(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._is_identifier(p_text text) FROM PUBLIC;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.grant_rule TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag._is_in_force(p_rule tool_rag.grant_rule, p_time timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._is_in_hours(p_time timestamp with time zone, p_weekdays integer[], p_from time without time zone, p_until time without time zone, p_time_zone text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._is_respelling(p_name text, p_tool text, p_server text) FROM PUBLIC;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.access_setting TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag._is_strict() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._is_visible(p_tool_id integer, p_role_ids integer[], p_server_ids integer[], p_gate integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._is_within(p_role_ids integer[], p_bound_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._judge_access(p_role_ids integer[], p_tool_id integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._known_requests(p_max integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._label_of(p_object text, p_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._lexical_text(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._lint_export(p_server text, p_tools jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._lint_names(p_server text, p_tools jsonb) FROM PUBLIC;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.review_setting TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.server TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag._lint_policy(p_server tool_rag.server) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._lint_rules() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._lint_texts(p_tools jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._lock_catalogue() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._lower(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._marks() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._match_tools(p_server_patterns text[], p_tool_patterns text[], p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._matches(p_pattern text, p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._merge_ranks(p_kinds text[], p_weights double precision[], p_requests integer[], p_tool_ids integer[], p_scores double precision[], p_relevances double precision[], p_named integer[], p_k integer, p_min_relevance double precision, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT requests integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._name_signature(p_folded text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._name_words(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._near_names(p_folded text, p_role_ids integer[], p_server_ids integer[], p_gate integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._nearest_tools(p_server text, p_tool text, p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._needs(p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._parse_hours(p_hours text, OUT weekdays integer[], OUT hours_from time without time zone, OUT hours_until time without time zone, OUT time_zone text, OUT fault text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._parse_parameter(p_name text, p_own text[], OUT kind text, OUT noun text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._parse_tool_name(p_name text, p_server text, OUT verb text, OUT noun text[], OUT area text[], OUT is_lookup boolean, OUT is_many boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._permitted(p_role_ids integer[], p_server_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._pick_pending(p_server_pattern text, p_tool_pattern text, p_hashes text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._plain_letters(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._plan_request(p_query text, p_context text[], p_options jsonb, OUT texts text[], OUT kinds text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._propose_by_model(p_embedding public.halfvec, p_model_id integer, p_role_ids integer[], p_server_ids integer[], p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._propose_by_vector(p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._propose_by_words(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_base double precision, p_slope double precision, p_role_ids integer[], p_server_ids integer[], p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._query_terms(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._rank_plan(p_texts text[], p_kinds text[], p_model_id integer, p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_k integer, p_min_relevance double precision, p_options jsonb, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT requests integer[], OUT word_places integer[], OUT word_scores double precision[], OUT meaning_places integer[], OUT model_places integer[], OUT model_scores double precision[], OUT vectors public.halfvec[], OUT expansions text[], OUT lexeme_ids integer[], OUT words text[], OUT word_requests integer[], OUT terms text[], OUT term_requests integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._rank_request(p_text text, p_model_id integer, p_embedding public.halfvec, p_role_ids integer[], p_server_ids integer[], p_gate integer[], p_limit integer, p_depth integer, p_options jsonb, OUT lexeme_ids integer[], OUT words text[], OUT terms text[], OUT expansion text, OUT vector public.halfvec, OUT word_count integer, OUT tool_ids integer[], OUT scores double precision[], OUT relevances double precision[], OUT word_places integer[], OUT word_scores double precision[], OUT meaning_places integer[], OUT model_places integer[], OUT model_scores double precision[], OUT similarity double precision) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._rank_vectors(p_embedding public.halfvec, p_model_id integer, p_tool_ids integer[], p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._rank_words(p_lexeme_ids integer[], p_weights double precision[], p_frequencies integer[], p_terms text[], p_term_weights double precision[], p_base double precision, p_slope double precision, p_tool_ids integer[], p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._read_hours(p_hours text, OUT weekdays integer[], OUT hours_from time without time zone, OUT hours_until time without time zone, OUT time_zone text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._read_login(OUT bound text[], OUT is_trusted boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._read_query(p_query text, p_tool_ids integer[], OUT lexeme_ids integer[], OUT weights double precision[], OUT frequencies integer[], OUT words text[], OUT terms text[], OUT term_weights double precision[], OUT expansion text, OUT base double precision, OUT slope double precision, OUT word_count integer, OUT lexeme_count integer, OUT document_count integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._read_tools(p_tools jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._record_delete() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._record_insert() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._record_search(p_started timestamp with time zone, p_query text, p_roles text[], p_conversation text, p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._record_truncate() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._record_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._refresh_access(p_role_ids integer[], p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._refresh_withheld(p_server_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._refuse_audit_edit() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._relevance(p_similarity double precision, p_word_score double precision, p_lexeme_count integer, p_sameness double precision, p_document_count integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._replace_synonyms(p_server_id integer, p_tools jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._resolve_tool(p_name text, p_roles text[], p_servers text[], p_allowed jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._restore_marks(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._review_export(p_server_id integer, p_tools jsonb, OUT tools jsonb, OUT waiting integer, OUT rejected integer, OUT flagged integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._review_policy(p_server tool_rag.server) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._role_ids(p_names text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._rows_at(p_object text, p_time timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._rules_on(p_role_id integer, p_server text, p_tool text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._search(p_query text, p_roles text[], p_k integer, p_embedding public.vector, p_context text[], p_conversation text, p_servers text[], p_token_budget integer, p_min_relevance double precision, p_options jsonb, p_allowed jsonb, p_is_recorded boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._sees_all() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._server_ids(p_patterns text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._show_characters(p_text text, p_class text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._show_hidden(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._similarities(p_text text, p_others text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._singular(p_words text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._skeleton(p_folded text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._split_request(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._stand_ins() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._store_tools(p_server_id integer, p_tools jsonb, OUT added integer, OUT changed integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._surplus_words(p_words text[], p_others text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._texts_to_embed(p_model_id integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._token_roles(p_token text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._tool_fields(p_name text, p_title text, p_description text, p_input_schema jsonb, p_server text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._tool_id(p_server text, p_tool text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._tool_in_general() FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._tool_texts(p_definition jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._try_versions(p_server_id integer, p_tools jsonb, p_max integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._unindex_lexemes(p_tool_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._visible_names(p_folded text[], p_role_ids integer[], p_server_ids integer[], p_gate integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._with_schedules(p_role_ids integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._within_one_edit(p_left text, p_right text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._without_secrets(p_value jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._word_pieces(p_word text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._words(p_text text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag._write_hours(p_weekdays integer[], p_from time without time zone, p_until time without time zone, p_time_zone text) FROM PUBLIC;

REVOKE ALL ON FUNCTION tool_rag.add_api_key(name text, public_id text, digest bytea, roles text[], identity jsonb, expires_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.add_api_key(name text, public_id text, digest bytea, roles text[], identity jsonb, expires_at timestamp with time zone) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.add_dependency(server text, tool text, needs_server text, needs_tool text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.add_dependency(server text, tool text, needs_server text, needs_tool text, reason text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.add_dependency(server text, tool text, needs_server text, needs_tool text, reason text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.add_embedding_model(name text, dimensions integer, query_prompt text, document_prompt text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.add_embedding_model(name text, dimensions integer, query_prompt text, document_prompt text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.add_example(server text, tool text, request text, origin text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.add_example(server text, tool text, request text, origin text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.add_example(server text, tool text, request text, origin text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.add_role(name text, parents text[], description text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.add_role(name text, parents text[], description text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.add_synonym(words text, server text, tool text, term text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.add_synonym(words text, server text, tool text, term text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.add_synonym(words text, server text, tool text, term text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.approve_tools(server_pattern text, tool_pattern text, hashes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.approve_tools(server_pattern text, tool_pattern text, hashes text[]) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.authenticate_key(public_id text, digest bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.authenticate_key(public_id text, digest bytea) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.authenticate_key(public_id text, digest bytea) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.authenticate_key(public_id text, digest bytea) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.bind_login(login text, roles text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.bind_login(login text, roles text[]) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.count_tools(roles text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.count_tools(roles text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.count_tools(roles text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.count_tools(roles text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.describe_tool(server text, name text, roles text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.describe_tool(server text, name text, roles text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.describe_tool(server text, name text, roles text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.describe_tool(server text, name text, roles text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.distrust_login(login text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.distrust_login(login text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.drop_embedding_model(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.drop_embedding_model(name text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.embed(text text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.embed(text text) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.embed(text text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.embed(text text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.explain_access(role text, server text, tool text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.explain_access(role text, server text, tool text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.explain_access(role text, server text, tool text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.explain_missing(query text, server text, tool text, roles text[], k integer, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.explain_missing(query text, server text, tool text, roles text[], k integer, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.explain_missing(query text, server text, tool text, roles text[], k integer, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.explain_missing(query text, server text, tool text, roles text[], k integer, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.forget_conversations(before timestamp with time zone, conversation text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.forget_conversations(before timestamp with time zone, conversation text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.forget_conversations(before timestamp with time zone, conversation text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.grant_access(login text, access text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.grant_access(login text, access text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.grant_tools(role text, server_pattern text, tool_pattern text, effect text, valid_until timestamp with time zone, valid_from timestamp with time zone, hours text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.grant_tools(role text, server_pattern text, tool_pattern text, effect text, valid_until timestamp with time zone, valid_from timestamp with time zone, hours text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.grant_tools(role text, server_pattern text, tool_pattern text, effect text, valid_until timestamp with time zone, valid_from timestamp with time zone, hours text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.lint_catalogue(server_pattern text, tool_pattern text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.lint_catalogue(server_pattern text, tool_pattern text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.lint_tools(payload jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.lint_tools(payload jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_access_changes(since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_access_changes(since timestamp with time zone, until timestamp with time zone) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_api_keys(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_api_keys(name text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_audit_events(since timestamp with time zone, until timestamp with time zone, kind text, outcome text, login text, max_rows integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_audit_events(since timestamp with time zone, until timestamp with time zone, kind text, outcome text, login text, max_rows integer) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_changes(since timestamp with time zone, until timestamp with time zone, objects text[], label text, login text, max_rows integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_changes(since timestamp with time zone, until timestamp with time zone, objects text[], label text, login text, max_rows integer) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_dependencies() FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_dependencies() TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_dependencies() TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_embedding_models() FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_embedding_models() TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_embedding_models() TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_examples(server text, tool text, origin text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_examples(server text, tool text, origin text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_examples(server text, tool text, origin text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_logins() FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_logins() TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_pending_tools(server_pattern text, tool_pattern text, rejected boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_pending_tools(server_pattern text, tool_pattern text, rejected boolean) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_review_policies() FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_review_policies() TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_roles() FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_roles() TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_roles() TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_rules(role text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_rules(role text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_rules(role text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_synonyms(server text, tool text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_synonyms(server text, tool text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_synonyms(server text, tool text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_tool_access(server text, tool text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_tool_access(server text, tool text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_tool_access(server text, tool text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.list_tools() FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.list_tools() TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.list_tools() TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.permitted_servers(roles text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.permitted_servers(roles text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.permitted_servers(roles text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.permitted_servers(roles text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.permitted_tools(roles text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.permitted_tools(roles text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.permitted_tools(roles text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.permitted_tools(roles text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.purge_audit(OUT changes bigint, OUT events bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.purge_audit(OUT changes bigint, OUT events bigint) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.record_call(server text, tool text, outcome text, roles text[], conversation text, detail jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.record_call(server text, tool text, outcome text, roles text[], conversation text, detail jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.record_call(server text, tool text, outcome text, roles text[], conversation text, detail jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.record_call(server text, tool text, outcome text, roles text[], conversation text, detail jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.record_message(conversation text, said text, OUT turn integer, OUT context text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.record_message(conversation text, said text, OUT turn integer, OUT context text[]) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.record_message(conversation text, said text, OUT turn integer, OUT context text[]) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.record_message(conversation text, said text, OUT turn integer, OUT context text[]) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.record_sent(conversation text, tools text[], roles text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.record_sent(conversation text, tools text[], roles text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.record_sent(conversation text, tools text[], roles text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.record_sent(conversation text, tools text[], roles text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.record_use(conversation text, turn integer, server text, tool text, roles text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.record_use(conversation text, turn integer, server text, tool text, roles text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.record_use(conversation text, turn integer, server text, tool text, roles text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.record_use(conversation text, turn integer, server text, tool text, roles text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.reindex_tools() FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.reindex_tools() TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.reject_tools(server_pattern text, tool_pattern text, hashes text[], note text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.reject_tools(server_pattern text, tool_pattern text, hashes text[], note text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.remove_dependency(server text, tool text, needs_server text, needs_tool text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.remove_dependency(server text, tool text, needs_server text, needs_tool text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.remove_dependency(server text, tool text, needs_server text, needs_tool text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.remove_example(server text, tool text, request text, origin text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.remove_example(server text, tool text, request text, origin text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.remove_example(server text, tool text, request text, origin text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.remove_role(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.remove_role(name text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.remove_server(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.remove_server(name text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.remove_synonym(words text, server text, tool text, term text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.remove_synonym(words text, server text, tool text, term text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.remove_synonym(words text, server text, tool text, term text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.resolve_tool(name text, roles text[], servers text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.resolve_tool(name text, roles text[], servers text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.resolve_tool(name text, roles text[], servers text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.resolve_tool(name text, roles text[], servers text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.revoke_access(login text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.revoke_access(login text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.revoke_api_key(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.revoke_api_key(name text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.revoke_tools(role text, server_pattern text, tool_pattern text, effect text, valid_from timestamp with time zone, hours text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.revoke_tools(role text, server_pattern text, tool_pattern text, effect text, valid_from timestamp with time zone, hours text) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.revoke_tools(role text, server_pattern text, tool_pattern text, effect text, valid_from timestamp with time zone, hours text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.rotate_api_key(name text, digest bytea, grace interval) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.rotate_api_key(name text, digest bytea, grace interval) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.search_tools(query text, roles text[], k integer, embedding public.vector, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.search_tools(query text, roles text[], k integer, embedding public.vector, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.search_tools(query text, roles text[], k integer, embedding public.vector, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.search_tools(query text, roles text[], k integer, embedding public.vector, context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.search_tools_batch(queries text[], roles text[], limits integer[], context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.search_tools_batch(queries text[], roles text[], limits integer[], context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.search_tools_batch(queries text[], roles text[], limits integer[], context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.search_tools_batch(queries text[], roles text[], limits integer[], context text[], conversation text, servers text[], token_budget integer, min_relevance double precision, options jsonb, allowed jsonb) TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.audit_setting TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.set_audit(level text, keep_events interval, keep_changes interval) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.set_audit(level text, keep_events interval, keep_changes interval) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.set_description(server text, tool text, description text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.set_description(server text, tool text, description text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.set_review_policy(server text, policy text, lint text, create_server boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.set_review_policy(server text, policy text, lint text, create_server boolean) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.set_roles_claim(path text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.set_roles_claim(path text[]) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.set_strict_statistics(strict boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.set_strict_statistics(strict boolean) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.store_rules(rules jsonb, replaced_roles text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.store_rules(rules jsonb, replaced_roles text[]) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.store_rules(rules jsonb, replaced_roles text[]) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.store_vectors(model text, tool_ids integer[], kinds text[], source_ids integer[], source_hashes bytea[], vectors text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.store_vectors(model text, tool_ids integer[], kinds text[], source_ids integer[], source_hashes bytea[], vectors text[]) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.suggest_dependencies(server text, max_rows integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.suggest_dependencies(server text, max_rows integer) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.suggest_dependencies(server text, max_rows integer) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.texts_to_embed(model text, max_rows integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.texts_to_embed(model text, max_rows integer) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.trust_login(login text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.trust_login(login text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.try_approval(server_pattern text, tool_pattern text, hashes text[], max_requests integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.try_approval(server_pattern text, tool_pattern text, hashes text[], max_requests integer) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.unbind_login(login text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.unbind_login(login text) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.unknown_roles(names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.unknown_roles(names text[]) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.unknown_roles(names text[]) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.unknown_roles(names text[]) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.unmatched_words(query text, roles text[], servers text[], allowed jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.unmatched_words(query text, roles text[], servers text[], allowed jsonb) TO tool_rag_reader;
GRANT ALL ON FUNCTION tool_rag.unmatched_words(query text, roles text[], servers text[], allowed jsonb) TO tool_rag_editor;
GRANT ALL ON FUNCTION tool_rag.unmatched_words(query text, roles text[], servers text[], allowed jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.upsert_tools(payload jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.upsert_tools(payload jsonb) TO tool_rag_admin;

REVOKE ALL ON FUNCTION tool_rag.use_embedding_model(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tool_rag.use_embedding_model(name text) TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.alembic_version TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.api_key_role TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.audit_event TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.catalogue_state TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.change TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.dependency TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.document TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.example TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.lexeme TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.login TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.login_role TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.message TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.my_tools TO tool_rag_reader;
GRANT SELECT ON TABLE tool_rag.my_tools TO tool_rag_editor;
GRANT SELECT ON TABLE tool_rag.my_tools TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.pending_tool TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.posting TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.ranking_setting TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.role TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.role_parent TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.role_schedule TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.role_tool TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.synonym TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.tool TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.tool_name TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.tool_sent TO tool_rag_admin;

GRANT SELECT,INSERT,DELETE,TRUNCATE,UPDATE ON TABLE tool_rag.tool_use TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.tool_vector TO tool_rag_admin;

GRANT SELECT ON TABLE tool_rag.word_piece TO tool_rag_admin;

