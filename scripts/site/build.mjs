/**
 * Builds the documentation site from README.md, docs/, bench/ and the other pages into the folder `site`.
 * Fails if a link or an image is broken.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vitepress';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = fileURLToPath(new URL('./pages', import.meta.url));

const { name, description, homepage } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const REPOSITORY = homepage.replace(/#.*/, '');

/** The path of each page on the site. docs/README.md becomes the sidebar. */
const PAGE_PATHS = new Map([
  ['README.md', 'index.md'],
  ['ARCHITECTURE.md', 'architecture.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['CHANGELOG.md', 'changelog.md'],
  ['SECURITY.md', 'security.md'],
  ['examples/README.md', 'examples.md'],
  ...examples().map((folder) => [`examples/${folder}/README.md`, `examples/${folder}.md`]),
  ...markdownIn('docs').map((file) => [`docs/${file}`, file]),
  ...markdownIn('bench').map((file) => [`bench/${file}`, `bench/${file}`]),
]);

function markdownIn(folder) {
  const files = readdirSync(join(ROOT, folder)).filter((file) => file.endsWith('.md'));
  return files.filter((file) => `${folder}/${file}` !== 'docs/README.md');
}

function examples() {
  return readdirSync(join(ROOT, 'examples')).filter((folder) =>
    existsSync(join(ROOT, 'examples', folder, 'README.md')),
  );
}

/** Keeps columns wide enough for words, and breaks long names, so that fewer tables scroll. */
const TABLE_STYLE =
  '.vp-doc td, .vp-doc th { padding: 6px 10px; min-width: 6rem; vertical-align: top; }' +
  '.vp-doc td code { overflow-wrap: anywhere; }' +
  '@media (max-width: 640px) { .vp-doc table { font-size: 14px; scrollbar-width: thin; } }';

const faults = [];

const titleOf = (page) =>
  (/^# (.+)$/m.exec(readFileSync(join(ROOT, page), 'utf8'))?.[1] ?? page).replaceAll('`', '');

/** Returns the site's version of a link. Replaces file names by page titles. */
function siteLink(text, link, page) {
  const target = posix.join(posix.dirname(page), link.replace(/#.*/, ''));
  const isFileName = PAGE_PATHS.has(target) && posix.basename(target) === text;
  return `[${isFileName ? titleOf(target) : text}](${siteAddress(link, page)})`;
}

function siteAddress(link, page) {
  if (/^([a-z]+:|#)/.test(link)) return link;
  const [path, anchor] = link.split('#');
  const target = posix.normalize(posix.join(posix.dirname(page), path));
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (!existsSync(join(ROOT, target))) faults.push(`${page}: ${link} is broken`);
  if (target === 'docs/README.md') return '/';
  const onSite = PAGE_PATHS.get(target);
  if (onSite !== undefined) return `/${onSite}${hash}`;
  if (/\.(png|svg)$/.test(target)) {
    const copy = join(PAGES, 'public', target);
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(join(ROOT, target), copy);
    return `/${target}`;
  }
  if (/^(?:docs|examples)\/.*\.\w+$/.test(target)) return `/${codePage(target)}`;
  return `${REPOSITORY}/blob/main/${target}${hash}`;
}

/** Creates a page that shows a file of docs/ or examples/. Returns its path. */
function codePage(file) {
  // VitePress treats names in brackets as dynamic routes.
  const path = `${file.replaceAll(/[[\]]/g, '')}.md`;
  const page = join(PAGES, path);
  mkdirSync(dirname(page), { recursive: true });
  const text = readFileSync(join(ROOT, file), 'utf8');
  const language = posix.extname(file).slice(1).replace(/^ru$/, 'ruby');
  writeFileSync(
    page,
    `# ${posix.basename(file)}\n\n\`${file}\` in the [repository](${REPOSITORY}/blob/main/${file}):\n\n` +
      `\`\`\`\`${language}\n${text}\`\`\`\`\n`,
  );
  return path;
}

/** Rewrites the links of a page outside its code blocks. */
function sitePage(page) {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const parts = text.split(/(^```[\s\S]*?^```$)/m);
  const rewritten = parts.map((part, index) =>
    index % 2 === 1
      ? // Removes the words for tests after the language.
        part.replace(/^```(\w+)[^\n]*/, '```$1')
      : part.replace(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (_, label, link) =>
          siteLink(label, link, page),
        ),
  );
  return rewritten.join('');
}

const pagesOf = (list) =>
  [...list.matchAll(/^- \[([\w-]+\.md)\]/gm)].map(([, page]) => `docs/${page}`);

const group = (text, pages) => ({
  text,
  items: pages.map((page) => ({ text: titleOf(page), link: `/${PAGE_PATHS.get(page)}` })),
});

/** Builds the sidebar from docs/README.md: a group for each of its lists. */
function sidebar() {
  const overview = readFileSync(join(ROOT, 'docs/README.md'), 'utf8');
  const [guides, reference] = overview.split(/^Reference/m);
  return [
    group('Guides', pagesOf(guides)),
    group('Reference', pagesOf(reference)),
    group('Examples', [
      'examples/README.md',
      ...examples().map((folder) => `examples/${folder}/README.md`),
    ]),
    group('Benchmarks', ['bench/README.md', 'bench/results.md', 'bench/scale.md']),
    group('Project', ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']),
  ];
}

rmSync(PAGES, { recursive: true, force: true });
for (const [page, path] of PAGE_PATHS) {
  mkdirSync(dirname(join(PAGES, path)), { recursive: true });
  writeFileSync(join(PAGES, path), sitePage(page));
}
if (faults.length > 0) throw new Error(faults.join('\n'));
mkdirSync(join(PAGES, '.vitepress'));
const config = {
  title: name,
  description,
  base: process.env.SITE_BASE ?? '/',
  outDir: join(ROOT, 'site'),
  // Otherwise browsers request /favicon.ico.
  head: [
    ['link', { rel: 'icon', href: 'data:,' }],
    ['style', {}, TABLE_STYLE],
  ],
  cacheDir: join(PAGES, '.vitepress/cache'),
  themeConfig: {
    sidebar: sidebar(),
    search: { provider: 'local' },
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
  },
};
writeFileSync(
  join(PAGES, '.vitepress/config.mjs'),
  `export default ${JSON.stringify(config, null, 2)};\n`,
);
await build(PAGES);
console.log(`The site is in ${relative(process.cwd(), config.outDir)}.`);
