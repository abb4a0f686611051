/**
 * The edges of each block: the block, its kind, whether it is globally reachable, and then
 * the address before it, its first, its last and the one after it, each with the smallest block that
 * contains it (the row's block if none is named).
 */
const ROWS = `
0.0.0.0/0 global true 0.0.0.0=0.0.0.0/32 255.255.255.255=255.255.255.255/32
0.0.0.0/8 reserved false 0.0.0.0=0.0.0.0/32 0.255.255.255= 1.0.0.0=0.0.0.0/0
0.0.0.0/32 unspecified false 0.0.0.0= 0.0.0.1=0.0.0.0/8
10.0.0.0/8 private false 9.255.255.255=0.0.0.0/0 10.0.0.0= 10.255.255.255= 11.0.0.0=0.0.0.0/0
100.64.0.0/10 cgnat false 100.63.255.255=0.0.0.0/0 100.64.0.0= 100.127.255.255= 100.128.0.0=0.0.0.0/0
127.0.0.0/8 loopback false 126.255.255.255=0.0.0.0/0 127.0.0.0= 127.255.255.255= 128.0.0.0=0.0.0.0/0
169.254.0.0/16 link-local false 169.253.255.255=0.0.0.0/0 169.254.0.0= 169.254.255.255= 169.255.0.0=0.0.0.0/0
172.16.0.0/12 private false 172.15.255.255=0.0.0.0/0 172.16.0.0= 172.31.255.255= 172.32.0.0=0.0.0.0/0
192.0.0.0/24 protocol false 191.255.255.255=0.0.0.0/0 192.0.0.0=192.0.0.0/29 192.0.0.255= 192.0.1.0=0.0.0.0/0
192.0.0.0/29 protocol false 191.255.255.255=0.0.0.0/0 192.0.0.0= 192.0.0.7= 192.0.0.8=192.0.0.8/32
192.0.0.8/32 protocol false 192.0.0.7=192.0.0.0/29 192.0.0.8= 192.0.0.9=192.0.0.9/32
192.0.0.9/32 protocol true 192.0.0.8=192.0.0.8/32 192.0.0.9= 192.0.0.10=192.0.0.10/32
192.0.0.10/32 protocol true 192.0.0.9=192.0.0.9/32 192.0.0.10= 192.0.0.11=192.0.0.0/24
192.0.0.170/32 protocol false 192.0.0.169=192.0.0.0/24 192.0.0.170= 192.0.0.171=192.0.0.171/32
192.0.0.171/32 protocol false 192.0.0.170=192.0.0.170/32 192.0.0.171= 192.0.0.172=192.0.0.0/24
192.0.2.0/24 documentation false 192.0.1.255=0.0.0.0/0 192.0.2.0= 192.0.2.255= 192.0.3.0=0.0.0.0/0
192.31.196.0/24 protocol true 192.31.195.255=0.0.0.0/0 192.31.196.0= 192.31.196.255= 192.31.197.0=0.0.0.0/0
192.52.193.0/24 protocol true 192.52.192.255=0.0.0.0/0 192.52.193.0= 192.52.193.255= 192.52.194.0=0.0.0.0/0
192.88.99.0/24 6to4 n/a 192.88.98.255=0.0.0.0/0 192.88.99.0= 192.88.99.255= 192.88.100.0=0.0.0.0/0
192.88.99.2/32 protocol false 192.88.99.1=192.88.99.0/24 192.88.99.2= 192.88.99.3=192.88.99.0/24
192.168.0.0/16 private false 192.167.255.255=0.0.0.0/0 192.168.0.0= 192.168.255.255= 192.169.0.0=0.0.0.0/0
192.175.48.0/24 protocol true 192.175.47.255=0.0.0.0/0 192.175.48.0= 192.175.48.255= 192.175.49.0=0.0.0.0/0
198.18.0.0/15 benchmarking false 198.17.255.255=0.0.0.0/0 198.18.0.0= 198.19.255.255= 198.20.0.0=0.0.0.0/0
198.51.100.0/24 documentation false 198.51.99.255=0.0.0.0/0 198.51.100.0= 198.51.100.255= 198.51.101.0=0.0.0.0/0
203.0.113.0/24 documentation false 203.0.112.255=0.0.0.0/0 203.0.113.0= 203.0.113.255= 203.0.114.0=0.0.0.0/0
224.0.0.0/4 multicast false 223.255.255.255=0.0.0.0/0 224.0.0.0= 239.255.255.255= 240.0.0.0=240.0.0.0/4
240.0.0.0/4 reserved false 239.255.255.255=224.0.0.0/4 240.0.0.0= 255.255.255.255=255.255.255.255/32
255.255.255.255/32 reserved false 255.255.255.254=240.0.0.0/4 255.255.255.255=
::/0 reserved false ::=::/128 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff=ff00::/8
2000::/3 global true 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff=::/0 2000::= 3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff= 4000::=::/0
::/96 reserved false ::=::/128 ::ffff:ffff= ::1:0:0=::/0
::/128 unspecified false ::= ::1=::1/128
::1/128 loopback false ::=::/128 ::1= ::2=::/96
::ffff:0:0/96 v4-mapped false ::fffe:ffff:ffff=::/0 ::ffff:0:0= ::ffff:ffff:ffff= ::1:0:0:0=::/0
::ffff:0:0:0/96 reserved false ::fffe:ffff:ffff:ffff=::/0 ::ffff:0:0:0= ::ffff:0:ffff:ffff= ::ffff:1:0:0=::/0
64:ff9b::/96 nat64 true 64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff=::/0 64:ff9b::= 64:ff9b::ffff:ffff= 64:ff9b::1:0:0=::/0
64:ff9b:1::/48 nat64-local false 64:ff9b:0:ffff:ffff:ffff:ffff:ffff=::/0 64:ff9b:1::= 64:ff9b:1:ffff:ffff:ffff:ffff:ffff= 64:ff9b:2::=::/0
100::/64 reserved false ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff=::/0 100::= 100::ffff:ffff:ffff:ffff= 100:0:0:1::=100:0:0:1::/64
100:0:0:1::/64 reserved false 100::ffff:ffff:ffff:ffff=100::/64 100:0:0:1::= 100::1:ffff:ffff:ffff:ffff= 100:0:0:2::=::/0
2001::/23 protocol false 2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff=2000::/3 2001::=2001::/32 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff= 2001:200::=2000::/3
2001::/32 teredo n/a 2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff=2000::/3 2001::= 2001:0:ffff:ffff:ffff:ffff:ffff:ffff= 2001:1::=2001::/23
2001:1::1/128 protocol true 2001:1::=2001::/23 2001:1::1= 2001:1::2=2001:1::2/128
2001:1::2/128 protocol true 2001:1::1=2001:1::1/128 2001:1::2= 2001:1::3=2001:1::3/128
2001:1::3/128 protocol true 2001:1::2=2001:1::2/128 2001:1::3= 2001:1::4=2001::/23
2001:2::/48 benchmarking false 2001:1:ffff:ffff:ffff:ffff:ffff:ffff=2001::/23 2001:2::= 2001:2:0:ffff:ffff:ffff:ffff:ffff= 2001:2:1::=2001::/23
2001:3::/32 protocol true 2001:2:ffff:ffff:ffff:ffff:ffff:ffff=2001::/23 2001:3::= 2001:3:ffff:ffff:ffff:ffff:ffff:ffff= 2001:4::=2001::/23
2001:4:112::/48 protocol true 2001:4:111:ffff:ffff:ffff:ffff:ffff=2001::/23 2001:4:112::= 2001:4:112:ffff:ffff:ffff:ffff:ffff= 2001:4:113::=2001::/23
2001:10::/28 protocol false 2001:f:ffff:ffff:ffff:ffff:ffff:ffff=2001::/23 2001:10::= 2001:1f:ffff:ffff:ffff:ffff:ffff:ffff= 2001:20::=2001:20::/28
2001:20::/28 protocol true 2001:1f:ffff:ffff:ffff:ffff:ffff:ffff=2001:10::/28 2001:20::= 2001:2f:ffff:ffff:ffff:ffff:ffff:ffff= 2001:30::=2001:30::/28
2001:30::/28 protocol true 2001:2f:ffff:ffff:ffff:ffff:ffff:ffff=2001:20::/28 2001:30::= 2001:3f:ffff:ffff:ffff:ffff:ffff:ffff= 2001:40::=2001::/23
2001:db8::/32 documentation false 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff=2000::/3 2001:db8::= 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff= 2001:db9::=2000::/3
2002::/16 6to4 n/a 2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff=2000::/3 2002::= 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff= 2003::=2000::/3
2620:4f:8000::/48 protocol true 2620:4f:7fff:ffff:ffff:ffff:ffff:ffff=2000::/3 2620:4f:8000::= 2620:4f:8000:ffff:ffff:ffff:ffff:ffff= 2620:4f:8001::=2000::/3
3fff::/20 documentation false 3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff=2000::/3 3fff::= 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff= 3fff:1000::=2000::/3
5f00::/16 reserved false 5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff=::/0 5f00::= 5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff= 5f01::=::/0
fc00::/7 private false fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff=::/0 fc00::= fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff= fe00::=::/0
fe80::/10 link-local false fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff=::/0 fe80::= febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff= fec0::=fec0::/10
fec0::/10 reserved false febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff=fe80::/10 fec0::= feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff= ff00::=ff00::/8
ff00::/8 multicast false feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff=fec0::/10 ff00::= ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff=
`;

export interface BlockEdges {
  readonly cidr: string;
  readonly kind: string;
  readonly globallyReachable: boolean | 'n/a';
  readonly edges: readonly { readonly address: string; readonly holder: string }[];
}

export const BLOCK_EDGES: readonly BlockEdges[] = ROWS.trim()
  .split('\n')
  .map((row) => {
    const [cidr = '', kind = '', reachable = '', ...edges] = row.split(' ');
    return {
      cidr,
      kind,
      globallyReachable: reachable === 'n/a' ? 'n/a' : reachable === 'true',
      edges: edges.map((edge) => {
        const [address = '', holder = ''] = edge.split('=');
        return { address, holder: holder === '' ? cidr : holder };
      }),
    };
  });
