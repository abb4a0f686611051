/** Something that happens once, and may be waited for. */
export interface Occasion {
  readonly happened: Promise<void>;
  readonly tell: () => void;
}

export function occasion(): Occasion {
  const told: { tell?: () => void } = {};
  const happened = new Promise<void>((resolve) => {
    told.tell = resolve;
  });
  return { happened, tell: () => told.tell?.() };
}
