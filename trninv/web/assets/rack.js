import{S as e,b as t,c as n,d as r,f as i,h as a,k as o,o as s}from"./parts.js";import{t as c}from"./wiring.js";import{t as l}from"./causes.js";import{t as u}from"./picture.js";import{D as d,r as f,t as p}from"./jsxRuntime.js";import{_ as m,h,n as g,o as _,p as v,r as y}from"./state.js";import{c as b,l as x,n as S,r as C}from"./words.js";import{r as w,s as T,t as E}from"./loss.js";function D({result:e}){let t=e.data?.incidents.nodes[0]?.impact.domains.slice(0,2)??[];return p(E,{of:t.length===1?t[0]?.domain:void 0,children:p(i,{result:e,children:()=>t.length?t.map(e=>p(d,{children:[t.length>1&&p(`h3`,{children:p(`a`,{href:f(`domain`,e.domain),children:e.domain.split(`/`)[1]})}),p(w,{loss:e})]},e.domain)):p(`p`,{class:`quiet`,children:`No loss is known.`})})})}var O=4;function k({servers:e,rack:t}){let n=[...new Set(e.flatMap(({domain:e})=>e.servers.nodes.map(e=>e.rack.address)))].filter(e=>e!==t),i=new Set(e.map(({domain:e})=>e.address)).size===1,a=e.length>O?e.filter(({state:e})=>e!==`up`):[...e].reverse();return p(`section`,{class:`card flush`,"aria-label":`Before you pull a server`,children:[p(`h2`,{children:`Before you pull a server`}),p(`dl`,{class:`figures inner`,children:[a.map(({address:e,chips:t,host:n,instance:a})=>{let o=[...new Set(t.nodes.flatMap(({job:e})=>e??[]))];return p(`div`,{children:[p(`dt`,{children:p(`a`,{href:f(`at`,e),children:e.split(`/`).slice(i?2:1).join(`/`)})}),p(`dd`,{children:[p(r,{jobs:o,none:`no job`}),p(`small`,{children:[n,a].filter(Boolean).join(` · `)||`no instance bound`})]})]},e)}),e.length>O&&p(`div`,{children:[p(`dt`,{children:`Jobs in the rack`}),p(`dd`,{children:b(new Set(e.flatMap(({chips:e})=>e.nodes.flatMap(({job:e})=>e??[]))).size)})]}),n.length>0&&p(`div`,{children:[p(`dt`,{children:`Its domains are also in`}),p(`dd`,{children:[n.slice(0,4).map((e,t)=>p(`span`,{children:[t>0&&`, `,p(`a`,{href:f(`rack`,e),children:e.split(`/`)[1]})]},e)),n.length>4&&` and ${n.length-4} more`]})]})]})]})}var A=t(`
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
    incidents(scope: $address, first: 4) {
      totalCount
      nodes { id place causes causeCount why who startedAt jobs jobCount parts { kind state count } }
    }
  }
`),j=t(`
  query RackCost($address: Address!) {
    incidents(scope: $address, first: 1) {
      nodes {
        id
        impact { domains { ...Capability } }
      }
    }
  }
`,[T]),M=t(`
  fragment InRack on Located {
    ... on Chip { rack { ordinal } }
    ... on Switch { rack { ordinal } }
  }
`),N=t(`
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
`,[M]);function P({rack:e,switches:t}){let n=new Map([...e.facts.map(e=>[S(`rack`,e.attribute),e]),...e.servers.nodes.flatMap(e=>e.facts.map(t=>[S(e.model,t.attribute),t])).filter(([e])=>/tray|rack/.test(e))]),r=e.servers.nodes[0]?.model??``;return p(`details`,{class:`card documented`,children:[p(`summary`,{children:[`Documented: `,x(n.size,`fact`)]}),p(`dl`,{class:`figures`,children:[...n].map(([e,t])=>p(`div`,{children:[p(`dt`,{children:[e.replace(`${r} `,``),p(`small`,{children:[t.source.title,`: `,C(t)]})]}),p(`dd`,{children:[t.value,t.assumed&&p(`span`,{class:`assumed`,children:` assumed`})]})]},e))}),t>0&&p(`p`,{class:`quiet`,children:[`This rack also holds `,x(t,`switch`),`. Their rack units are not documented.`]}),p(`p`,{class:`quiet`,children:`The order of servers from bottom to top is assumed.`})]})}var[F,I]=[7,2],L=6,R=e=>y.find(t=>e.includes(t))??`up`;function z({rack:t}){let n=t.cluster.racks.totalCount,r=c()?I:F,a=Math.max(0,Math.min(t.ordinal-r,n-2*r-1)),s=t.cluster.slug,l=o(e(N,{cluster:s,from:a,to:a+2*r}));if(n<2)return null;let u=e=>f(`rack`,`${s}/r${e}`);return p(`nav`,{class:`card neighbors`,"aria-label":`Racks`,children:p(i,{result:l,children:e=>p(d,{children:[p(B,{to:t.ordinal>0?u(t.ordinal-1):void 0,name:`Previous rack`,sign:`‹`}),p(H,{row:e,rack:t}),p(B,{to:t.ordinal<n-1?u(t.ordinal+1):void 0,name:`Next rack`,sign:`›`}),p(W,{row:e,rack:t})]})})})}var B=({to:e,name:t,sign:n})=>e?p(`a`,{class:`button square`,href:e,children:[p(`span`,{"aria-hidden":`true`,children:n}),p(`span`,{class:`unseen`,children:t})]}):p(`span`,{class:`square`});function V({servers:e,chips:t}){let n=new Map,r=(e,t)=>n.set(e,R([t,n.get(e)??`up`].filter(v)));for(let{address:t,state:n}of e.nodes)r(t,n);for(let{state:e,server:n}of t.nodes)r(n.address,e);return n}function H({row:e,rack:t}){let n=V(e),r=U(e);return p(`ol`,{class:`row-of-racks`,children:[...e.racks.nodes].sort((e,t)=>e.ordinal-t.ordinal).map(({address:e,ordinal:i,servers:a})=>{let o=a.nodes.map(e=>n.get(e.address)??e.state),s=R([...o,...r.get(i)?.states??[]]);return p(`li`,{children:p(`a`,{href:f(`rack`,e),"aria-current":i===t.ordinal?`page`:void 0,children:[p(`span`,{class:`front`,"aria-hidden":`true`,children:o.length<=4?[...a.nodes].reverse().map(e=>{let t=n.get(e.address)??e.state;return p(`i`,{class:t,children:t!==`up`&&p(g,{state:t})},e.address)}):p(`i`,{class:s,children:s!==`up`&&p(g,{state:s})})}),`r`,i,s!==`up`&&p(`span`,{class:`unseen`,children:[` `,m(s)]})]})},e)})})}function U({servers:e,chips:t,switches:n,links:r}){let i=new Map,a=(e,t,n)=>{let{counts:r,states:a}=i.get(n)??{counts:new Map,states:[]};i.set(n,{counts:r.set(e,(r.get(e)??0)+1),states:[...a,t]})};for(let{state:t,rack:n}of e.nodes)a(`server`,t,n.ordinal);for(let{state:e,server:n,rack:r}of t.nodes)n.state!==e&&a(`chip`,e,r.ordinal);for(let{state:e,rack:t}of n.nodes)a(`switch`,e,t.ordinal);for(let{state:e,a:t,b:n}of r.nodes)for(let r of new Set([t,n].flatMap(e=>`rack`in e?[e.rack.ordinal]:[])))a(`link`,e,r);return i}function W({row:e,rack:t}){let n=U(e);n.delete(t.ordinal);let r=e=>y.indexOf(R(e)),i=[...n].sort((e,t)=>r(e[1].states)-r(t[1].states)||e[0]-t[0]);return p(`div`,{class:`elsewhere`,children:[p(`h2`,{children:`Unhealthy, elsewhere`}),i.length?p(`ul`,{children:[i.slice(0,L).map(([e,{counts:n,states:r}])=>p(`li`,{children:[p(g,{state:R(r)}),p(`a`,{href:f(`rack`,`${t.cluster.slug}/r${e}`),children:[`r`,e]}),p(`span`,{class:`quiet`,children:[[...n].map(([e,t])=>x(t,e)).join(`, `),p(`span`,{class:`unseen`,children:[` `,m(R(r))]})]})]},e)),i.length>L&&p(`li`,{class:`quiet`,children:[`and `,i.length-L,` more`]})]}):p(`p`,{class:`quiet`,children:`no other rack`})]})}function G({route:t}){let n=e(A,{address:t.subject});return p(i,{result:o(n),page:t.subject,children:e=>`rackUnits`in e.resolve?p(K,{answer:e,rack:e.resolve,query:n}):p(`p`,{class:`failure`,children:[t.subject,` is not a rack.`]})})}function K({answer:t,rack:r,query:i}){let g=r.servers.nodes,v=[...new Set(g.map(e=>e.domain.address))],b=g.flatMap(({trays:e})=>e).reduce((e,{rackUnits:t})=>e+(t??0),0),S=!t.incidents.totalCount,C=o(S?null:e(j,{address:r.address}));return p(`article`,{class:`rack`,children:[p(`header`,{class:`title`,children:[p(`h1`,{children:r.address}),p(`span`,{class:`states`,children:y.map(e=>{let n=Y(t,r).filter(t=>t.state===e);return n.length>0&&p(_,{state:e,children:[n.map(({kind:e,count:t})=>x(t,h(e))).join(`, `),` `,m(e)]},e)})}),p(`p`,{children:[x(g.length,`server`),` of`,` `,v.slice(0,3).map((e,t)=>p(`span`,{children:[t>0&&`, `,p(`a`,{href:f(`domain`,e),children:e.split(`/`)[1]})]},e)),v.length>3&&` and ${v.length-3} more`,b>0?`, ${b} of ${r.rackUnits} U`:`, heights not documented`]}),p(`nav`,{class:`tools`,"aria-label":`Rack`,children:[p(s,{queries:[i]}),p(n,{name:r.address,picture:a(`rack`)})]})]}),p(`div`,{class:`columns`,children:[p(`section`,{class:`card elevation`,"aria-label":`Elevation`,children:p(`div`,{style:{minHeight:`${q(r,c())}px`},children:p(u,{name:`rack`,options:{scope:r.address}})})}),p(`aside`,{class:`side`,"aria-label":`Causes and facts`,children:[S?p(`p`,{class:`card quiet`,children:`Every part of this rack is up.`}):p(d,{children:[p(l,{place:r.cluster.slug,incidents:t.incidents}),p(D,{result:C})]}),p(k,{servers:g,rack:r.address}),p(P,{rack:r,switches:t.switches.totalCount})]})]}),p(z,{rack:r})]})}function q(e,t){let n=e.servers.nodes,r=n.reduce((e,t)=>e+Math.max(t.trays.length,1),0),i=n.every(e=>e.trays.some(({rackUnits:e})=>e));return t?36+22*n.length+15*n.reduce((e,t)=>e+J(t),0)+30*r:i?16*e.rackUnits+14:Math.min(690,36*r+6*n.length+14)}function J({state:e,chips:t,host:n,instance:r}){let i=t.nodes.filter(t=>t.state!==`up`&&t.state!==e).length;return 2+(e===`up`?Math.min(i,2):2)+(n||r?1:0)}function Y({chips:e,nics:t,switches:n},r){let i=new Map;for(let{state:e}of r.servers.nodes)i.set(e,(i.get(e)??0)+1);return[[`server`,[...i].map(([e,t])=>({state:e,count:t}))],[`chip`,e.aggregates],[`nic`,t.aggregates],[`switch`,n.aggregates]].flatMap(([e,t])=>t.map(({state:t,count:n})=>({kind:e,state:t??`up`,count:n})).filter(({state:t,count:n})=>n&&(t!==`up`||e===`chip`)))}export{G as RackView};