/** Reads facts from a database in MaxMind's format, with the optional peer `maxmind`. */
import { SecurityEventError } from '../../errors.ts';
import {
  NON_EMPTY_TEXT,
  type OptionsOf,
  option,
  readOptions,
  required,
} from '../../option-rules.ts';
import { optionalImport, rethrow } from '../../runtime/optional-import.ts';
import type { Enricher } from './enricher-source.ts';
import type { AddressEnrichment, Geo } from './enrichment.ts';

const OPTIONS = {
  databasePath: required<string>(NON_EMPTY_TEXT),
  /** The language of city names, such as `de` or `pt-BR`; English if a name is missing. Default `en`. */
  language: option<string>(NON_EMPTY_TEXT, 'en'),
} as const;

export interface MaxmindOptions extends OptionsOf<typeof OPTIONS> {
  /** A `.mmdb` file: GeoLite2 City, GeoIP2 City or Enterprise, Anonymous IP, or one with the same format. */
  readonly databasePath: string;
}

interface Maxmind {
  readonly open: (path: string) => Promise<{ readonly get: (address: string) => unknown }>;
}

const loadMaxmind = async (): Promise<Maxmind> => import('maxmind').catch(rethrow);

/**
 * Creates an enricher that looks addresses up in a database file. The file is read into memory once:
 * create a new enricher when it has changed. `geo` needs city, country and coordinates in the database.
 *
 * `load` replaces the package in tests.
 *
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION`; `ERR_PEER_MISSING` if `maxmind` is not
 * installed; `ERR_SETTINGS_FAILED` if the file cannot be read or is not such a database.
 */
export async function maxmindEnricher(
  options: MaxmindOptions,
  load: () => Promise<Maxmind> = loadMaxmind,
): Promise<Enricher> {
  const { databasePath, language } = readOptions(options, OPTIONS);
  const { open } = await optionalImport('maxmind@5', load);
  const reader = await open(databasePath).catch((cause: unknown) => {
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { cause, path: ['databasePath'] });
  });
  return (address) => factsIn(reader.get(address), language);
}

type Entry = Readonly<Record<string, unknown>>;

const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null;

/** Returns the entry of that name, or an empty one. */
const entryIn = (entry: Entry, name: string): Entry => {
  const value = Object.hasOwn(entry, name) ? entry[name] : undefined;
  return isEntry(value) ? value : {};
};

function factsIn(found: unknown, language: string): AddressEnrichment | undefined {
  if (!isEntry(found)) return undefined;
  // Anonymous IP has these at the top level, Enterprise and Insights among the traits.
  const says = (...names: readonly string[]): boolean =>
    [found, entryIn(found, 'traits')].some((entry) => names.some((name) => entry[name] === true));
  const geo = geoIn(found, language);
  return {
    ...(geo === undefined ? {} : { geo }),
    proxy: says('is_public_proxy', 'is_residential_proxy'),
    tor: says('is_tor_exit_node'),
    vpn: says('is_anonymous_vpn'),
  };
}

function geoIn(found: Entry, language: string): Geo | undefined {
  const names = entryIn(entryIn(found, 'city'), 'names');
  const city = names[language] ?? names['en'];
  const country = ALPHA_3_CODES.get(String(entryIn(found, 'country')['iso_code']));
  const { latitude, longitude } = entryIn(found, 'location');
  if (typeof city !== 'string' || country === undefined) return undefined;
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return undefined;
  return { city, country_code: country, latitude, longitude };
}

/**
 * Both ISO 3166-1 codes of each country in one word: `NLNLD`. XK and XKX are not assigned by ISO, but
 * MaxMind and others use them for Kosovo.
 */
const COUNTRIES =
  'ADAND AEARE AFAFG AGATG AIAIA ALALB AMARM AOAGO AQATA ARARG ASASM ATAUT AUAUS AWABW AXALA ' +
  'AZAZE BABIH BBBRB BDBGD BEBEL BFBFA BGBGR BHBHR BIBDI BJBEN BLBLM BMBMU BNBRN BOBOL BQBES ' +
  'BRBRA BSBHS BTBTN BVBVT BWBWA BYBLR BZBLZ CACAN CCCCK CDCOD CFCAF CGCOG CHCHE CICIV CKCOK ' +
  'CLCHL CMCMR CNCHN COCOL CRCRI CUCUB CVCPV CWCUW CXCXR CYCYP CZCZE DEDEU DJDJI DKDNK DMDMA ' +
  'DODOM DZDZA ECECU EEEST EGEGY EHESH ERERI ESESP ETETH FIFIN FJFJI FKFLK FMFSM FOFRO FRFRA ' +
  'GAGAB GBGBR GDGRD GEGEO GFGUF GGGGY GHGHA GIGIB GLGRL GMGMB GNGIN GPGLP GQGNQ GRGRC GSSGS ' +
  'GTGTM GUGUM GWGNB GYGUY HKHKG HMHMD HNHND HRHRV HTHTI HUHUN IDIDN IEIRL ILISR IMIMN ININD ' +
  'IOIOT IQIRQ IRIRN ISISL ITITA JEJEY JMJAM JOJOR JPJPN KEKEN KGKGZ KHKHM KIKIR KMCOM KNKNA ' +
  'KPPRK KRKOR KWKWT KYCYM KZKAZ LALAO LBLBN LCLCA LILIE LKLKA LRLBR LSLSO LTLTU LULUX LVLVA ' +
  'LYLBY MAMAR MCMCO MDMDA MEMNE MFMAF MGMDG MHMHL MKMKD MLMLI MMMMR MNMNG MOMAC MPMNP MQMTQ ' +
  'MRMRT MSMSR MTMLT MUMUS MVMDV MWMWI MXMEX MYMYS MZMOZ NANAM NCNCL NENER NFNFK NGNGA NINIC ' +
  'NLNLD NONOR NPNPL NRNRU NUNIU NZNZL OMOMN PAPAN PEPER PFPYF PGPNG PHPHL PKPAK PLPOL PMSPM ' +
  'PNPCN PRPRI PSPSE PTPRT PWPLW PYPRY QAQAT REREU ROROU RSSRB RURUS RWRWA SASAU SBSLB SCSYC ' +
  'SDSDN SESWE SGSGP SHSHN SISVN SJSJM SKSVK SLSLE SMSMR SNSEN SOSOM SRSUR SSSSD STSTP SVSLV ' +
  'SXSXM SYSYR SZSWZ TCTCA TDTCD TFATF TGTGO THTHA TJTJK TKTKL TLTLS TMTKM TNTUN TOTON TRTUR ' +
  'TTTTO TVTUV TWTWN TZTZA UAUKR UGUGA UMUMI USUSA UYURY UZUZB VAVAT VCVCT VEVEN VGVGB VIVIR ' +
  'VNVNM VUVUT WFWLF WSWSM XKXKX YEYEM YTMYT ZAZAF ZMZMB ZWZWE';

export const ALPHA_3_CODES: ReadonlyMap<string, string> = new Map(
  COUNTRIES.split(' ').map((country) => [country.slice(0, 2), country.slice(2)]),
);
