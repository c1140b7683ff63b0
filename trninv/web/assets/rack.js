import{B as e,C as t,E as n,N as r,S as i,_ as a,c as o,j as s,l as c,n as l,r as u,y as d}from"./words.js";import{t as f}from"./wiring.js";import{t as p}from"./causes.js";import{t as m}from"./picture.js";import{E as h,r as g,t as _}from"./jsxRuntime.js";import{_ as v,h as y,n as b,o as x,p as S,r as C}from"./state.js";import{r as w,s as T,t as E}from"./loss.js";function D({result:e}){let n=e.data?.incidents.nodes[0]?.impact.domains.slice(0,2)??[];return _(E,{of:n.length===1?n[0]?.domain:void 0,children:_(t,{result:e,children:()=>n.length?n.map(e=>_(h,{children:[n.length>1&&_(`h3`,{children:_(`a`,{href:g(`domain`,e.domain),children:e.domain.split(`/`)[1]})}),_(w,{loss:e})]},e.domain)):_(`p`,{class:`quiet`,children:`No loss is known.`})})})}var O=4;function k({servers:e,rack:t}){let n=[...new Set(e.flatMap(({domain:e})=>e.servers.nodes.map(e=>e.rack.address)))].filter(e=>e!==t),r=new Set(e.map(({domain:e})=>e.address)).size===1,a=e.length>O?e.filter(({state:e})=>e!==`up`):[...e].reverse();return _(`section`,{class:`card flush`,"aria-label":`Before you pull a server`,children:[_(`h2`,{children:`Before you pull a server`}),_(`dl`,{class:`figures inner`,children:[a.map(({address:e,chips:t,host:n,instance:a})=>{let o=[...new Set(t.nodes.flatMap(({job:e})=>e??[]))];return _(`div`,{children:[_(`dt`,{children:_(`a`,{href:g(`at`,e),children:e.split(`/`).slice(r?2:1).join(`/`)})}),_(`dd`,{children:[_(i,{jobs:o,none:`no job`}),_(`small`,{children:[n,a].filter(Boolean).join(` · `)||`no instance bound`})]})]},e)}),e.length>O&&_(`div`,{children:[_(`dt`,{children:`Jobs in the rack`}),_(`dd`,{children:o(new Set(e.flatMap(({chips:e})=>e.nodes.flatMap(({job:e})=>e??[]))).size)})]}),n.length>0&&_(`div`,{children:[_(`dt`,{children:`Its domains are also in`}),_(`dd`,{children:[n.slice(0,4).map((e,t)=>_(`span`,{children:[t>0&&`, `,_(`a`,{href:g(`rack`,e),children:e.split(`/`)[1]})]},e)),n.length>4&&` and ${n.length-4} more`]})]})]})]})}var A=s(`
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
`),j=s(`
  query RackCost($address: Address!) {
    incidents(scope: $address, first: 1) {
      nodes {
        id
        impact { domains { ...Capability } }
      }
    }
  }
`,[T]),M=s(`
  fragment InRack on Located {
    ... on Chip { rack { ordinal } }
    ... on Switch { rack { ordinal } }
  }
`),N=s(`
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
`,[M]);function P({rack:e,switches:t}){let n=new Map([...e.facts.map(e=>[l(`rack`,e.attribute),e]),...e.servers.nodes.flatMap(e=>e.facts.map(t=>[l(e.model,t.attribute),t])).filter(([e])=>/tray|rack/.test(e))]),r=e.servers.nodes[0]?.model??``;return _(`details`,{class:`card documented`,children:[_(`summary`,{children:[`Documented: `,c(n.size,`fact`)]}),_(`dl`,{class:`figures`,children:[...n].map(([e,t])=>_(`div`,{children:[_(`dt`,{children:[e.replace(`${r} `,``),_(`small`,{children:[t.source.title,`: `,u(t)]})]}),_(`dd`,{children:[t.value,t.assumed&&_(`span`,{class:`assumed`,children:` assumed`})]})]},e))}),t>0&&_(`p`,{class:`quiet`,children:[`This rack also holds `,c(t,`switch`),`. Their rack units are not documented.`]}),_(`p`,{class:`quiet`,children:`The order of servers from bottom to top is assumed.`})]})}var[F,I]=[7,2],L=6,R=e=>C.find(t=>e.includes(t))??`up`;function z({rack:n}){let i=n.cluster.racks.totalCount,a=f()?I:F,o=Math.max(0,Math.min(n.ordinal-a,i-2*a-1)),s=n.cluster.slug,c=e(r(N,{cluster:s,from:o,to:o+2*a}));if(i<2)return null;let l=e=>g(`rack`,`${s}/r${e}`);return _(`nav`,{class:`card neighbors`,"aria-label":`Racks`,children:_(t,{result:c,children:e=>_(h,{children:[_(B,{to:n.ordinal>0?l(n.ordinal-1):void 0,name:`Previous rack`,sign:`‹`}),_(H,{row:e,rack:n}),_(B,{to:n.ordinal<i-1?l(n.ordinal+1):void 0,name:`Next rack`,sign:`›`}),_(W,{row:e,rack:n})]})})})}var B=({to:e,name:t,sign:n})=>e?_(`a`,{class:`button square`,href:e,children:[_(`span`,{"aria-hidden":`true`,children:n}),_(`span`,{class:`unseen`,children:t})]}):_(`span`,{class:`square`});function V({servers:e,chips:t}){let n=new Map,r=(e,t)=>n.set(e,R([t,n.get(e)??`up`].filter(S)));for(let{address:t,state:n}of e.nodes)r(t,n);for(let{state:e,server:n}of t.nodes)r(n.address,e);return n}function H({row:e,rack:t}){let n=V(e),r=U(e);return _(`ol`,{class:`row-of-racks`,children:[...e.racks.nodes].sort((e,t)=>e.ordinal-t.ordinal).map(({address:e,ordinal:i,servers:a})=>{let o=a.nodes.map(e=>n.get(e.address)??e.state),s=R([...o,...r.get(i)?.states??[]]);return _(`li`,{children:_(`a`,{href:g(`rack`,e),"aria-current":i===t.ordinal?`page`:void 0,children:[_(`span`,{class:`front`,"aria-hidden":`true`,children:o.length<=4?[...a.nodes].reverse().map(e=>{let t=n.get(e.address)??e.state;return _(`i`,{class:t,children:t!==`up`&&_(b,{state:t})},e.address)}):_(`i`,{class:s,children:s!==`up`&&_(b,{state:s})})}),`r`,i,s!==`up`&&_(`span`,{class:`unseen`,children:[` `,v(s)]})]})},e)})})}function U({servers:e,chips:t,switches:n,links:r}){let i=new Map,a=(e,t,n)=>{let{counts:r,states:a}=i.get(n)??{counts:new Map,states:[]};i.set(n,{counts:r.set(e,(r.get(e)??0)+1),states:[...a,t]})};for(let{state:t,rack:n}of e.nodes)a(`server`,t,n.ordinal);for(let{state:e,server:n,rack:r}of t.nodes)n.state!==e&&a(`chip`,e,r.ordinal);for(let{state:e,rack:t}of n.nodes)a(`switch`,e,t.ordinal);for(let{state:e,a:t,b:n}of r.nodes)for(let r of new Set([t,n].flatMap(e=>`rack`in e?[e.rack.ordinal]:[])))a(`link`,e,r);return i}function W({row:e,rack:t}){let n=U(e);n.delete(t.ordinal);let r=e=>C.indexOf(R(e)),i=[...n].sort((e,t)=>r(e[1].states)-r(t[1].states)||e[0]-t[0]);return _(`div`,{class:`elsewhere`,children:[_(`h2`,{children:`Unhealthy, elsewhere`}),i.length?_(`ul`,{children:[i.slice(0,L).map(([e,{counts:n,states:r}])=>_(`li`,{children:[_(b,{state:R(r)}),_(`a`,{href:g(`rack`,`${t.cluster.slug}/r${e}`),children:[`r`,e]}),_(`span`,{class:`quiet`,children:[[...n].map(([e,t])=>c(t,e)).join(`, `),_(`span`,{class:`unseen`,children:[` `,v(R(r))]})]})]},e)),i.length>L&&_(`li`,{class:`quiet`,children:[`and `,i.length-L,` more`]})]}):_(`p`,{class:`quiet`,children:`no other rack`})]})}function G({route:n}){let i=r(A,{address:n.subject});return _(t,{result:e(i),page:n.subject,children:e=>`rackUnits`in e.resolve?_(K,{answer:e,rack:e.resolve,query:i}):_(`p`,{class:`failure`,children:[n.subject,` is not a rack.`]})})}function K({answer:t,rack:i,query:o}){let s=i.servers.nodes,l=[...new Set(s.map(e=>e.domain.address))],u=s.flatMap(({trays:e})=>e).reduce((e,{rackUnits:t})=>e+(t??0),0),b=!t.incidents.totalCount,S=e(b?null:r(j,{address:i.address}));return _(`article`,{class:`rack`,children:[_(`header`,{class:`title`,children:[_(`h1`,{children:i.address}),_(`span`,{class:`states`,children:C.map(e=>{let n=Y(t,i).filter(t=>t.state===e);return n.length>0&&_(x,{state:e,children:[n.map(({kind:e,count:t})=>c(t,y(e))).join(`, `),` `,v(e)]},e)})}),_(`p`,{children:[c(s.length,`server`),` of`,` `,l.slice(0,3).map((e,t)=>_(`span`,{children:[t>0&&`, `,_(`a`,{href:g(`domain`,e),children:e.split(`/`)[1]})]},e)),l.length>3&&` and ${l.length-3} more`,u>0?`, ${u} of ${i.rackUnits} U`:`, heights not documented`]}),_(`nav`,{class:`tools`,"aria-label":`Rack`,children:[_(a,{queries:[o]}),_(d,{name:i.address,picture:n(`rack`)})]})]}),_(`div`,{class:`columns`,children:[_(`section`,{class:`card elevation`,"aria-label":`Elevation`,children:_(`div`,{style:{minHeight:`${q(i,f())}px`},children:_(m,{name:`rack`,options:{scope:i.address}})})}),_(`aside`,{class:`side`,"aria-label":`Causes and facts`,children:[b?_(`p`,{class:`card quiet`,children:`Every part of this rack is up.`}):_(h,{children:[_(p,{place:i.cluster.slug,incidents:t.incidents}),_(D,{result:S})]}),_(k,{servers:s,rack:i.address}),_(P,{rack:i,switches:t.switches.totalCount})]})]}),_(z,{rack:i})]})}function q(e,t){let n=e.servers.nodes,r=n.reduce((e,t)=>e+Math.max(t.trays.length,1),0),i=n.every(e=>e.trays.some(({rackUnits:e})=>e));return t?36+22*n.length+15*n.reduce((e,t)=>e+J(t),0)+30*r:i?16*e.rackUnits+14:Math.min(690,36*r+6*n.length+14)}function J({state:e,chips:t,host:n,instance:r}){let i=t.nodes.filter(t=>t.state!==`up`&&t.state!==e).length;return 2+(e===`up`?Math.min(i,2):2)+(n||r?1:0)}function Y({chips:e,nics:t,switches:n},r){let i=new Map;for(let{state:e}of r.servers.nodes)i.set(e,(i.get(e)??0)+1);return[[`server`,[...i].map(([e,t])=>({state:e,count:t}))],[`chip`,e.aggregates],[`nic`,t.aggregates],[`switch`,n.aggregates]].flatMap(([e,t])=>t.map(({state:t,count:n})=>({kind:e,state:t??`up`,count:n})).filter(({state:t,count:n})=>n&&(t!==`up`||e===`chip`)))}export{G as RackView};