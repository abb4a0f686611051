/** The two applications: which service each is, who comes to it, and what its receiver must have then. */
import type { RequestListener } from 'node:http';
import type { Reporter } from 'security-event-delivery';
import { type Expected, SHOP_EXPECTED, WAREHOUSE_EXPECTED } from './expectations.ts';
import { createShop } from './shop.ts';
import { SHOP_VISITS, type Visit, WAREHOUSE_VISITS } from './visitors.ts';
import { createWarehouse } from './warehouse.ts';

export interface Application {
  /** Stands in every record, and names the application in the settings. */
  readonly service: { readonly svc_id: string; readonly name: string; readonly env: string };
  readonly createListener: (reporter: Reporter) => RequestListener;
  readonly visits: readonly Visit[];
  readonly expected: Expected;
}

export const APPLICATIONS: readonly Application[] = [
  {
    service: { svc_id: 'shop-1', name: 'shop', env: 'example' },
    createListener: createShop,
    visits: SHOP_VISITS,
    expected: SHOP_EXPECTED,
  },
  {
    service: { svc_id: 'warehouse-1', name: 'warehouse', env: 'example' },
    createListener: createWarehouse,
    visits: WAREHOUSE_VISITS,
    expected: WAREHOUSE_EXPECTED,
  },
];
