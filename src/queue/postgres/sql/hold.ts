/** Locks an application's row. A lease that is over ends here: its messages were sent once more. */
export const HOLD = `
create function {s}.hold(which bigint) returns {s}.application language plpgsql as $$
declare
  app {s}.application;
begin
  select * into app from {s}.application where number = which for no key update;
  if app.lease_end <= {s}.now_exact() then
    update {s}.message m set sends = m.sends + 1
      from unnest(app.claim_dues, app.claim_sequences) c(due, sequence)
      where m.application = which and m.due = c.due and m.sequence = c.sequence;
    update {s}.application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        first_due = least(a.first_due, app.claim_dues[1])
      where a.number = which returning * into app;
  end if;
  return app;
end $$;`;
