-- A job on PostgreSQL, as a prototype: what this package's job asks of Redis, by SKIP LOCKED.
--
-- exchange() is one transaction: it renews the lease of a worker, frees the sites of those whose
-- lease has ended, settles pages together with their links, takes sites, and claims requests.
-- It has no versions of spiders, no requests without a filter, no sharing among unequal workers.

CREATE TABLE workers (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token text NOT NULL,
  until timestamptz NOT NULL,
  lease interval NOT NULL,
  last bigint NOT NULL DEFAULT 0  -- number of its last exchange
);

CREATE TABLE sites (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  owner bigint,
  due timestamptz,  -- null: nothing waits
  rest timestamptz NOT NULL DEFAULT '-infinity'  -- until then it is left alone
) WITH (fillfactor = 80);
CREATE INDEX ON sites (due) WHERE owner IS NULL AND due IS NOT NULL;
CREATE INDEX ON sites (owner) WHERE owner IS NOT NULL;

CREATE TABLE requests (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site bigint NOT NULL,
  priority bigint NOT NULL,
  deaths smallint NOT NULL DEFAULT 0,
  state "char" NOT NULL DEFAULT 'q',  -- q: waits, c: claimed, o: sent, x: set aside
  body bytea NOT NULL
) WITH (fillfactor = 95);
CREATE INDEX waiting ON requests (site, deaths, priority, number) WHERE state = 'q';
CREATE INDEX claimed ON requests (site) WHERE state <> 'q';

CREATE TABLE seen (fingerprint bigint PRIMARY KEY);

CREATE FUNCTION free_sites(worker bigint, has_died boolean) RETURNS void LANGUAGE sql AS $$
  UPDATE requests r
  SET state = CASE
        WHEN has_died AND r.state = 'o' AND r.deaths >= 2 THEN 'x'::"char"
        ELSE 'q'::"char"
      END,
      deaths = r.deaths + (has_died AND r.state = 'o')::int
  FROM sites s
  WHERE r.site = s.id AND s.owner = worker AND r.state IN ('c', 'o');
  UPDATE sites SET owner = NULL, due = greatest(now(), rest) WHERE owner = worker;
  DELETE FROM workers WHERE number = worker
$$;

-- done, sent: numbers of requests. push_…: a new request's site, fingerprint and body, in three
-- lists. rest_…: sites that are given back, and milliseconds for which each is left alone.
-- take: how many sites more. low: sites of which more is claimed. most: requests of a site.
CREATE FUNCTION exchange(
  me bigint, its_token text, this bigint, done bigint[], sent bigint[],
  push_site text[], push_fingerprint bigint[], push_body bytea[],
  rest_site text[], rest_ms bigint[], take int, low text[], most int
) RETURNS TABLE (what text, site text, number bigint, body bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  before bigint;
  dead bigint;
  newest interval;
  taken bigint[];
BEGIN
  -- No worker has renewed for half a lease: the server was away, and nobody counts as dead.
  SELECT max(until) - now() - max(lease) / 2 INTO newest FROM workers;
  IF newest < interval '0' THEN
    UPDATE workers SET until = greatest(until, now() + lease / 2);
  END IF;
  UPDATE workers SET until = now() + lease
    WHERE workers.number = me AND token = its_token RETURNING last INTO before;
  IF before IS NULL THEN
    RETURN QUERY SELECT 'lost', NULL::text, NULL::bigint, NULL::bytea;
    RETURN;
  END IF;
  FOR dead IN
    SELECT workers.number FROM workers WHERE until < now() FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM free_sites(dead, true);
  END LOOP;
  IF before = this THEN  -- its reply was lost
    RETURN QUERY SELECT 'page', s.name, r.number, r.body
      FROM sites s JOIN requests r ON r.site = s.id
      WHERE s.owner = me AND r.state IN ('c', 'o');
    RETURN;
  END IF;
  UPDATE workers SET last = this WHERE workers.number = me;
  IF cardinality(push_site) > 0 THEN
    WITH pushed AS (
      SELECT * FROM unnest(push_site, push_fingerprint, push_body)
        WITH ORDINALITY AS pushed(site, fingerprint, body, place)
    ), unseen AS (
      INSERT INTO seen SELECT DISTINCT fingerprint FROM pushed ORDER BY fingerprint
        ON CONFLICT DO NOTHING RETURNING fingerprint
    ), new AS (
      SELECT DISTINCT ON (fingerprint) pushed.* FROM pushed JOIN unseen USING (fingerprint)
        ORDER BY fingerprint, place
    ), named AS (
      INSERT INTO sites (name, due) SELECT DISTINCT site, now() FROM new ORDER BY site
        ON CONFLICT (name) DO UPDATE
          SET due = coalesce(sites.due, greatest(now(), sites.rest))
        RETURNING id, name
    )
    INSERT INTO requests (site, priority, body)
      SELECT named.id, 0, new.body FROM new JOIN named ON named.name = new.site
      ORDER BY new.place;
  END IF;
  DELETE FROM requests r USING sites s
    WHERE r.number = ANY(done) AND s.id = r.site AND s.owner = me;
  UPDATE requests r SET state = 'o' FROM sites s
    WHERE r.number = ANY(sent) AND s.id = r.site AND s.owner = me AND r.state = 'c';
  IF cardinality(rest_site) > 0 THEN
    UPDATE requests r SET state = 'q' FROM sites s
      WHERE s.name = ANY(rest_site) AND s.owner = me AND r.site = s.id
        AND r.state IN ('c', 'o');
    UPDATE sites s
      SET owner = NULL,
          rest = now() + given.ms * interval '1 ms',
          due = CASE
            WHEN EXISTS (SELECT FROM requests r WHERE r.site = s.id AND r.state = 'q')
            THEN now() + given.ms * interval '1 ms'
          END
      FROM unnest(rest_site, rest_ms) AS given(name, ms)
      WHERE s.name = given.name AND s.owner = me;
  END IF;
  WITH free AS (
    SELECT id FROM sites WHERE owner IS NULL AND due <= now()
      ORDER BY due LIMIT take FOR UPDATE SKIP LOCKED
  ), owned AS (
    UPDATE sites s SET owner = me FROM free WHERE s.id = free.id RETURNING s.id
  )
  SELECT array_agg(id) INTO taken FROM owned;
  RETURN QUERY SELECT 'site', s.name, NULL::bigint, NULL::bytea
    FROM sites s WHERE s.id = ANY(taken);
  RETURN QUERY
    WITH own AS (
      SELECT s.id, s.name FROM sites s
        WHERE s.id = ANY(taken) OR (s.name = ANY(low) AND s.owner = me)
    ), next AS (
      SELECT waiting.number FROM own CROSS JOIN LATERAL (
        SELECT r.number FROM requests r WHERE r.site = own.id AND r.state = 'q'
          ORDER BY r.deaths, r.priority, r.number LIMIT most
      ) waiting
    )
    UPDATE requests r SET state = 'c' FROM next, own
      WHERE r.number = next.number AND own.id = r.site
      RETURNING 'page', own.name, r.number, r.body;
END $$;
