import { type ClaimName, claimName } from './rows.ts';

interface LiveClaim {
  readonly name: ClaimName;
  readonly leaseEndsAt: number;
}

/** Claims of one queue that are neither settled nor expired, oldest lease first. */
export class LiveClaims {
  readonly #claims = new Map<string, LiveClaim>();

  get names(): ClaimName[] {
    return Array.from(this.#claims.values(), ({ name }) => name);
  }

  keep(id: string, lease: { readonly now: number; readonly leaseMs: number }): void {
    const { now, leaseMs } = lease;
    for (const [old, { leaseEndsAt }] of this.#claims) {
      if (leaseEndsAt > now) break;
      this.#claims.delete(old);
    }
    this.#claims.delete(id);
    const name = claimName({ id });
    if (name !== undefined) this.#claims.set(id, { name, leaseEndsAt: now + leaseMs });
  }

  delete(id: string): void {
    this.#claims.delete(id);
  }
}
