import{S as e,b as t,c as n,d as r,f as i,h as a,k as o,o as s}from"./parts.js";import{t as c}from"./wiring.js";import{U as l}from"./index.js";import{t as u}from"./causes.js";import{t as d}from"./picture.js";import{D as f,r as p,t as m}from"./jsxRuntime.js";import{_ as h,h as g,n as _,o as v,p as y,r as b}from"./state.js";import{c as x,l as S,n as C,r as w}from"./words.js";import{r as T,s as E,t as D}from"./loss.js";function O({result:e}){let t=e.data?.incidents.nodes[0]?.impact.domains.slice(0,2)??[];return m(D,{of:t.length===1?t[0]?.domain:void 0,children:m(i,{result:e,children:()=>t.length?t.map(e=>m(f,{children:[t.length>1&&m(`h3`,{children:m(`a`,{href:p(`domain`,e.domain),children:e.domain.split(`/`)[1]})}),m(T,{loss:e})]},e.domain)):m(`p`,{class:`quiet`,children:`No loss is known.`})})})}var k=4;function A({servers:e,rack:t}){let n=[...new Set(e.flatMap(({domain:e})=>e.servers.nodes.map(e=>e.rack.address)))].filter(e=>e!==t),i=new Set(e.map(({domain:e})=>e.address)).size===1,a=e.length>k?e.filter(({state:e})=>e!==`up`):[...e].reverse();return m(`section`,{class:`card flush`,"aria-label":`Before you pull a server`,children:[m(`h2`,{children:`Before you pull a server`}),m(`dl`,{class:`figures inner`,children:[a.map(({address:e,chips:t,host:n,instance:a})=>{let o=[...new Set(t.nodes.flatMap(({job:e})=>e??[]))];return m(`div`,{children:[m(`dt`,{children:m(`a`,{href:p(`at`,e),children:e.split(`/`).slice(i?2:1).join(`/`)})}),m(`dd`,{children:[m(r,{jobs:o,none:`no job`}),m(`small`,{children:[n,a].filter(Boolean).join(` · `)||`no instance bound`})]})]},e)}),e.length>k&&m(`div`,{children:[m(`dt`,{children:`Jobs in the rack`}),m(`dd`,{children:x(new Set(e.flatMap(({chips:e})=>e.nodes.flatMap(({job:e})=>e??[]))).size)})]}),n.length>0&&m(`div`,{children:[m(`dt`,{children:`Its domains are also in`}),m(`dd`,{children:[n.slice(0,4).map((e,t)=>m(`span`,{children:[t>0&&`, `,m(`a`,{href:p(`rack`,e),children:e.split(`/`)[1]})]},e)),n.length>4&&` and ${n.length-4} more`]})]})]})]})}var j=t(`
  query Rack($address: Address!) {
    resolve(address: $address) {
      ... on Rack {
        address ordinal rackUnits
        cluster { slug racks(first: 1) { totalCount } }
        facts { attribute value quote formula assumed source { title } }
        servers(first: 36) {
          nodes {
            address ordinal state factor model instance host
            domain { address servers(first: 64) { nodes { rack { address } } } }
            trays { rackUnits }
            lastChange { at who why }
            chips(first: 64) { nodes { state job } }
            facts { attribute value quote formula assumed source { title } }
          }
        }
      }
    }
    chips: chips(filter: { rack: { eq: $address } }, first: 1) { aggregates(by: [STATE]) { state count } }
    nics: nics(filter: { rack: { eq: $address } }, first: 1) { aggregates(by: [STATE]) { state count } }
    switches: switches(filter: { rack: { eq: $address } }, first: 1) { totalCount aggregates(by: [STATE]) { state count } }
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 4) {
      totalCount
      nodes { id place causes causeCount why who startedAt jobs jobCount parts { kind state count } }
    }
  }
`),M=t(`
  query RackCost($address: Address!) {
    incidents(scope: $address, first: 1) {
      nodes {
        id
        impact { domains { ...Capability } }
      }
    }
  }
`,[E]),N=t(`
  fragment InRack on Located {
    ... on Chip { rack { ordinal } }
    ... on Switch { rack { ordinal } }
  }
`),P=t(`
  query RackRow($cluster: Address!, $from: Int!, $to: Int!) {
    racks(filter: { cluster: { eq: $cluster }, ordinal: { gte: $from, lte: $to } }, first: 20) {
      nodes { address ordinal servers(first: 36) { nodes { address state } } }
    }
    servers(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 200) {
      nodes { address state rack { address ordinal } }
    }
    chips(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 500) {
      nodes { address state server { address state } rack { address ordinal } }
    }
    switches(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 200) { nodes { state rack { ordinal } } }
    links(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 200) {
      nodes { state a { ...InRack } b { ...InRack } }
    }
  }
`,[N]);function F({rack:e,switches:t}){let n=new Map([...e.facts.map(e=>[C(`rack`,e.attribute),e]),...e.servers.nodes.flatMap(e=>e.facts.map(t=>[C(e.model,t.attribute),t])).filter(([e])=>/tray|rack/.test(e))]),r=e.servers.nodes[0]?.model??``;return m(`details`,{class:`card documented`,children:[m(`summary`,{children:[`Documented: `,S(n.size,`fact`)]}),m(`dl`,{class:`figures`,children:[...n].map(([e,t])=>m(`div`,{children:[m(`dt`,{children:[e.replace(`${r} `,``),m(`small`,{children:[t.source.title,`: `,w(t)]})]}),m(`dd`,{children:[t.value,t.assumed&&m(`span`,{class:`assumed`,children:` assumed`})]})]},e))}),t>0&&m(`p`,{class:`quiet`,children:[`This rack also holds `,S(t,`switch`),`. Their rack units are not documented.`]}),m(`p`,{class:`quiet`,children:`The order of servers from bottom to top is assumed.`})]})}var[I,L]=[7,2],R=6,z=e=>b.find(t=>e.includes(t))??`up`;function B({rack:t}){let n=t.cluster.racks.totalCount,r=c()?L:I,a=Math.max(0,Math.min(t.ordinal-r,n-2*r-1)),s=t.cluster.slug,l=o(e(P,{cluster:s,from:a,to:a+2*r}));if(n<2)return null;let u=e=>p(`rack`,`${s}/r${e}`);return m(`nav`,{class:`card neighbors`,"aria-label":`Racks`,children:m(i,{result:l,children:e=>m(f,{children:[m(V,{to:t.ordinal>0?u(t.ordinal-1):void 0,name:`Previous rack`,sign:`‹`}),m(U,{row:e,rack:t}),m(V,{to:t.ordinal<n-1?u(t.ordinal+1):void 0,name:`Next rack`,sign:`›`}),m(G,{row:e,rack:t})]})})})}var V=({to:e,name:t,sign:n})=>e?m(`a`,{class:`button square`,href:e,children:[m(`span`,{"aria-hidden":`true`,children:n}),m(`span`,{class:`unseen`,children:t})]}):m(`span`,{class:`square`});function H({servers:e,chips:t}){let n=new Map,r=(e,t)=>n.set(e,z([t,n.get(e)??`up`].filter(y)));for(let{address:t,state:n}of e.nodes)r(t,n);for(let{state:e,server:n}of t.nodes)r(n.address,e);return n}function U({row:e,rack:t}){let n=H(e),r=W(e);return m(`ol`,{class:`row-of-racks`,children:[...e.racks.nodes].sort((e,t)=>e.ordinal-t.ordinal).map(({address:e,ordinal:i,servers:a})=>{let o=a.nodes.map(e=>n.get(e.address)??e.state),s=z([...o,...r.get(i)?.states??[]]);return m(`li`,{children:m(`a`,{href:p(`rack`,e),"aria-current":i===t.ordinal?`page`:void 0,children:[m(`span`,{class:`front`,"aria-hidden":`true`,children:o.length<=4?[...a.nodes].reverse().map(e=>{let t=n.get(e.address)??e.state;return m(`i`,{class:t,children:t!==`up`&&m(_,{state:t})},e.address)}):m(`i`,{class:s,children:s!==`up`&&m(_,{state:s})})}),`r`,i,s!==`up`&&m(`span`,{class:`unseen`,children:[` `,h(s)]})]})},e)})})}function W({servers:e,chips:t,switches:n,links:r}){let i=new Map,a=(e,t,n)=>{let{counts:r,states:a}=i.get(n)??{counts:new Map,states:[]};i.set(n,{counts:r.set(e,(r.get(e)??0)+1),states:[...a,t]})};for(let{state:t,rack:n}of e.nodes)a(`server`,t,n.ordinal);for(let{state:e,server:n,rack:r}of t.nodes)n.state!==e&&a(`chip`,e,r.ordinal);for(let{state:e,rack:t}of n.nodes)a(`switch`,e,t.ordinal);for(let{state:e,a:t,b:n}of r.nodes)for(let r of new Set([t,n].flatMap(e=>`rack`in e?[e.rack.ordinal]:[])))a(`link`,e,r);return i}function G({row:e,rack:t}){let n=W(e);n.delete(t.ordinal);let r=e=>b.indexOf(z(e)),i=[...n].sort((e,t)=>r(e[1].states)-r(t[1].states)||e[0]-t[0]);return m(`div`,{class:`elsewhere`,children:[m(`h2`,{children:`Unhealthy, elsewhere`}),i.length?m(`ul`,{children:[i.slice(0,R).map(([e,{counts:n,states:r}])=>m(`li`,{children:[m(_,{state:z(r)}),m(`a`,{href:p(`rack`,`${t.cluster.slug}/r${e}`),children:[`r`,e]}),m(`span`,{class:`quiet`,children:[[...n].map(([e,t])=>S(t,e)).join(`, `),m(`span`,{class:`unseen`,children:[` `,h(z(r))]})]})]},e)),i.length>R&&m(`li`,{class:`quiet`,children:[`and `,i.length-R,` more`]})]}):m(`p`,{class:`quiet`,children:`no other rack`})]})}function K({route:t}){let n=e(j,{address:t.subject});return m(i,{result:o(n),page:t.subject,children:e=>`rackUnits`in e.resolve?m(q,{answer:e,rack:e.resolve,query:n}):m(`p`,{class:`failure`,children:[t.subject,` is not a rack.`]})})}function q({answer:t,rack:r,query:i}){let _=r.servers.nodes,y=[...new Set(_.map(e=>e.domain.address))],x=_.flatMap(({trays:e})=>e).reduce((e,{rackUnits:t})=>e+(t??0),0),C=!t.incidents.totalCount,w=o(C?null:e(M,{address:r.address}));return m(`article`,{class:`rack`,children:[m(`header`,{class:`title`,children:[m(`h1`,{children:r.address}),m(`span`,{class:`states`,children:[b.map(e=>{let n=X(t,r).filter(t=>t.state===e);return n.length>0&&m(v,{state:e,children:[n.map(({kind:e,count:t})=>S(t,g(e))).join(`, `),` `,h(e)]},e)}),m(l,{count:t.unappliedFindingCount,scope:r.address})]}),m(`p`,{children:[S(_.length,`server`),` of`,` `,y.slice(0,3).map((e,t)=>m(`span`,{children:[t>0&&`, `,m(`a`,{href:p(`domain`,e),children:e.split(`/`)[1]})]},e)),y.length>3&&` and ${y.length-3} more`,x>0?`, ${x} of ${r.rackUnits} U`:`, heights not documented`]}),m(`nav`,{class:`tools`,"aria-label":`Rack`,children:[m(s,{queries:[i]}),m(n,{name:r.address,picture:a(`rack`)})]})]}),m(`div`,{class:`columns`,children:[m(`section`,{class:`card elevation`,"aria-label":`Elevation`,children:m(`div`,{style:{minHeight:`${J(r,c())}px`},children:m(d,{name:`rack`,options:{scope:r.address}})})}),m(`aside`,{class:`side`,"aria-label":`Causes and facts`,children:[C?m(`p`,{class:`card quiet`,children:`Every part of this rack is up.`}):m(f,{children:[m(u,{place:r.cluster.slug,incidents:t.incidents}),m(O,{result:w})]}),m(A,{servers:_,rack:r.address}),m(F,{rack:r,switches:t.switches.totalCount})]})]}),m(B,{rack:r})]})}function J(e,t){let n=e.servers.nodes,r=n.reduce((e,t)=>e+Math.max(t.trays.length,1),0),i=n.every(e=>e.trays.some(({rackUnits:e})=>e));return t?36+22*n.length+15*n.reduce((e,t)=>e+Y(t),0)+30*r:i?16*e.rackUnits+14:Math.min(690,36*r+6*n.length+14)}function Y({state:e,chips:t,host:n,instance:r}){let i=t.nodes.filter(t=>t.state!==`up`&&t.state!==e).length;return 2+(e===`up`?Math.min(i,2):2)+(n||r?1:0)}function X({chips:e,nics:t,switches:n},r){let i=new Map;for(let{state:e}of r.servers.nodes)i.set(e,(i.get(e)??0)+1);return[[`server`,[...i].map(([e,t])=>({state:e,count:t}))],[`chip`,e.aggregates],[`nic`,t.aggregates],[`switch`,n.aggregates]].flatMap(([e,t])=>t.map(({state:t,count:n})=>({kind:e,state:t??`up`,count:n})).filter(({state:t,count:n})=>n&&(t!==`up`||e===`chip`)))}export{K as RackView};