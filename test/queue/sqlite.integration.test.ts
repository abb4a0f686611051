import { describeSqliteConformance } from './sqlite/describe-sqlite-conformance.ts';

describeSqliteConformance('a queue in an SQLite file');
