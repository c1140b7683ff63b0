import{C as e,D as t,M as n,P as r,V as i,b as a,l as o,n as s,r as c,u as l,v as u,w as d}from"./words.js";import{t as f}from"./wiring.js";import{t as p}from"./causes.js";import{t as m}from"./picture.js";import{E as h,r as g,t as _}from"./jsxRuntime.js";import{_ as v,h as y,n as b,o as x,p as S,r as C}from"./state.js";import{o as w,r as T,t as E}from"./loss.js";function D({result:e}){let t=e.data?.incidents.nodes[0]?.impact.domains.slice(0,2)??[];return _(E,{of:t.length===1?t[0]?.domain:void 0,children:_(d,{result:e,children:()=>t.length?t.map(e=>_(h,{children:[t.length>1&&_(`h3`,{children:_(`a`,{href:g(`domain`,e.domain),children:e.domain.split(`/`)[1]})}),_(T,{loss:e})]},e.domain)):_(`p`,{class:`quiet`,children:`No loss is known.`})})})}var O=4;function k({servers:t,rack:n}){let r=[...new Set(t.flatMap(({domain:e})=>e.servers.nodes.map(e=>e.rack.address)))].filter(e=>e!==n),i=new Set(t.map(({domain:e})=>e.address)).size===1,a=t.length>O?t.filter(({state:e})=>e!==`up`):[...t].reverse();return _(`section`,{class:`card flush`,"aria-label":`Before you pull a server`,children:[_(`h2`,{children:`Before you pull a server`}),_(`dl`,{class:`figures inner`,children:[a.map(({address:t,chips:n,host:r,instance:a})=>{let o=[...new Set(n.nodes.flatMap(({job:e})=>e??[]))];return _(`div`,{children:[_(`dt`,{children:_(`a`,{href:g(`at`,t),children:t.split(`/`).slice(i?2:1).join(`/`)})}),_(`dd`,{children:[_(e,{jobs:o,none:`no job`}),_(`small`,{children:[r,a].filter(Boolean).join(` · `)||`no instance bound`})]})]},t)}),t.length>O&&_(`div`,{children:[_(`dt`,{children:`Jobs in the rack`}),_(`dd`,{children:o(new Set(t.flatMap(({chips:e})=>e.nodes.flatMap(({job:e})=>e??[]))).size)})]}),r.length>0&&_(`div`,{children:[_(`dt`,{children:`Its domains are also in`}),_(`dd`,{children:[r.slice(0,4).map((e,t)=>_(`span`,{children:[t>0&&`, `,_(`a`,{href:g(`rack`,e),children:e.split(`/`)[1]})]},e)),r.length>4&&` and ${r.length-4} more`]})]})]})]})}var A=n(`
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
`),j=n(`
  query RackCost($address: Address!) {
    incidents(scope: $address, first: 1) {
      nodes {
        id
        impact { domains { ...Capability } }
      }
    }
  }
`,[w]),M=n(`
  fragment InRack on Located {
    ... on Chip { rack { ordinal } }
    ... on Switch { rack { ordinal } }
  }
`),N=n(`
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
`,[M]);function P({rack:e,switches:t}){let n=new Map([...e.facts.map(e=>[s(`rack`,e.attribute),e]),...e.servers.nodes.flatMap(e=>e.facts.map(t=>[s(e.model,t.attribute),t])).filter(([e])=>/tray|rack/.test(e))]),r=e.servers.nodes[0]?.model??``;return _(`details`,{class:`card documented`,children:[_(`summary`,{children:[`Documented: `,l(n.size,`fact`)]}),_(`dl`,{class:`figures`,children:[...n].map(([e,t])=>_(`div`,{children:[_(`dt`,{children:[e.replace(`${r} `,``),_(`small`,{children:[t.source.title,`: `,c(t)]})]}),_(`dd`,{children:[t.value,t.assumed&&_(`span`,{class:`assumed`,children:` assumed`})]})]},e))}),t>0&&_(`p`,{class:`quiet`,children:[`This rack also holds `,l(t,`switch`),`. Their rack units are not documented.`]}),_(`p`,{class:`quiet`,children:`The order of servers from bottom to top is assumed.`})]})}var[F,I]=[7,2],L=6,R=e=>C.find(t=>e.includes(t))??`up`;function z({rack:e}){let t=e.cluster.racks.totalCount,n=f()?I:F,a=Math.max(0,Math.min(e.ordinal-n,t-2*n-1)),o=e.cluster.slug,s=i(r(N,{cluster:o,from:a,to:a+2*n}));if(t<2)return null;let c=e=>g(`rack`,`${o}/r${e}`);return _(`nav`,{class:`card neighbors`,"aria-label":`Racks`,children:_(d,{result:s,children:n=>_(h,{children:[_(B,{to:e.ordinal>0?c(e.ordinal-1):void 0,name:`Previous rack`,sign:`‹`}),_(H,{row:n,rack:e}),_(B,{to:e.ordinal<t-1?c(e.ordinal+1):void 0,name:`Next rack`,sign:`›`}),_(W,{row:n,rack:e})]})})})}var B=({to:e,name:t,sign:n})=>e?_(`a`,{class:`button square`,href:e,children:[_(`span`,{"aria-hidden":`true`,children:n}),_(`span`,{class:`unseen`,children:t})]}):_(`span`,{class:`square`});function V({servers:e,chips:t}){let n=new Map,r=(e,t)=>n.set(e,R([t,n.get(e)??`up`].filter(S)));for(let{address:t,state:n}of e.nodes)r(t,n);for(let{state:e,server:n}of t.nodes)r(n.address,e);return n}function H({row:e,rack:t}){let n=V(e),r=U(e);return _(`ol`,{class:`row-of-racks`,children:[...e.racks.nodes].sort((e,t)=>e.ordinal-t.ordinal).map(({address:e,ordinal:i,servers:a})=>{let o=a.nodes.map(e=>n.get(e.address)??e.state),s=R([...o,...r.get(i)?.states??[]]);return _(`li`,{children:_(`a`,{href:g(`rack`,e),"aria-current":i===t.ordinal?`page`:void 0,children:[_(`span`,{class:`front`,"aria-hidden":`true`,children:o.length<=4?[...a.nodes].reverse().map(e=>{let t=n.get(e.address)??e.state;return _(`i`,{class:t,children:t!==`up`&&_(b,{state:t})},e.address)}):_(`i`,{class:s,children:s!==`up`&&_(b,{state:s})})}),`r`,i,s!==`up`&&_(`span`,{class:`unseen`,children:[` `,v(s)]})]})},e)})})}function U({servers:e,chips:t,switches:n,links:r}){let i=new Map,a=(e,t,n)=>{let{counts:r,states:a}=i.get(n)??{counts:new Map,states:[]};i.set(n,{counts:r.set(e,(r.get(e)??0)+1),states:[...a,t]})};for(let{state:t,rack:n}of e.nodes)a(`server`,t,n.ordinal);for(let{state:e,server:n,rack:r}of t.nodes)n.state!==e&&a(`chip`,e,r.ordinal);for(let{state:e,rack:t}of n.nodes)a(`switch`,e,t.ordinal);for(let{state:e,a:t,b:n}of r.nodes)for(let r of new Set([t,n].flatMap(e=>`rack`in e?[e.rack.ordinal]:[])))a(`link`,e,r);return i}function W({row:e,rack:t}){let n=U(e);n.delete(t.ordinal);let r=e=>C.indexOf(R(e)),i=[...n].sort((e,t)=>r(e[1].states)-r(t[1].states)||e[0]-t[0]);return _(`div`,{class:`elsewhere`,children:[_(`h2`,{children:`Unhealthy, elsewhere`}),i.length?_(`ul`,{children:[i.slice(0,L).map(([e,{counts:n,states:r}])=>_(`li`,{children:[_(b,{state:R(r)}),_(`a`,{href:g(`rack`,`${t.cluster.slug}/r${e}`),children:[`r`,e]}),_(`span`,{class:`quiet`,children:[[...n].map(([e,t])=>l(t,e)).join(`, `),_(`span`,{class:`unseen`,children:[` `,v(R(r))]})]})]},e)),i.length>L&&_(`li`,{class:`quiet`,children:[`and `,i.length-L,` more`]})]}):_(`p`,{class:`quiet`,children:`no other rack`})]})}function G({route:e}){let t=r(A,{address:e.subject});return _(d,{result:i(t),page:e.subject,children:n=>`rackUnits`in n.resolve?_(K,{answer:n,rack:n.resolve,query:t}):_(`p`,{class:`failure`,children:[e.subject,` is not a rack.`]})})}function K({answer:e,rack:n,query:o}){let s=n.servers.nodes,c=[...new Set(s.map(e=>e.domain.address))],d=s.flatMap(({trays:e})=>e).reduce((e,{rackUnits:t})=>e+(t??0),0),b=!e.incidents.totalCount,S=i(b?null:r(j,{address:n.address})),w=S.data?.incidents.nodes[0]?.impact.domains.flatMap(({slowerJobs:e})=>e)??[];return _(`article`,{class:`rack`,children:[_(`header`,{class:`title`,children:[_(`h1`,{children:n.address}),_(`span`,{class:`states`,children:C.map(t=>{let r=Y(e,n).filter(e=>e.state===t);return r.length>0&&_(x,{state:t,children:[r.map(({kind:e,count:t})=>l(t,y(e))).join(`, `),` `,v(t)]},t)})}),_(`p`,{children:[l(s.length,`server`),` of`,` `,c.slice(0,3).map((e,t)=>_(`span`,{children:[t>0&&`, `,_(`a`,{href:g(`domain`,e),children:e.split(`/`)[1]})]},e)),c.length>3&&` and ${c.length-3} more`,d>0?`, ${d} of ${n.rackUnits} U`:`, heights not documented`]}),_(`nav`,{class:`tools`,"aria-label":`Rack`,children:[_(u,{queries:[o]}),_(a,{name:n.address,picture:t(`rack`)})]})]}),_(`div`,{class:`columns`,children:[_(`section`,{class:`card elevation`,"aria-label":`Elevation`,children:_(`div`,{style:{minHeight:`${q(n,f())}px`},children:_(m,{name:`rack`,options:{scope:n.address}})})}),_(`aside`,{class:`side`,"aria-label":`Causes and facts`,children:[b?_(`p`,{class:`card quiet`,children:`Every part of this rack is up.`}):_(h,{children:[_(p,{place:n.cluster.slug,incidents:e.incidents,slower:w}),_(D,{result:S})]}),_(k,{servers:s,rack:n.address}),_(P,{rack:n,switches:e.switches.totalCount})]})]}),_(z,{rack:n})]})}function q(e,t){let n=e.servers.nodes,r=n.reduce((e,t)=>e+Math.max(t.trays.length,1),0),i=n.every(e=>e.trays.some(({rackUnits:e})=>e));return t?36+22*n.length+15*n.reduce((e,t)=>e+J(t),0)+30*r:i?16*e.rackUnits+14:Math.min(690,36*r+6*n.length+14)}function J({state:e,chips:t,host:n,instance:r}){let i=t.nodes.filter(t=>t.state!==`up`&&t.state!==e).length;return 2+(e===`up`?Math.min(i,2):2)+(n||r?1:0)}function Y({chips:e,nics:t,switches:n},r){let i=new Map;for(let{state:e}of r.servers.nodes)i.set(e,(i.get(e)??0)+1);return[[`server`,[...i].map(([e,t])=>({state:e,count:t}))],[`chip`,e.aggregates],[`nic`,t.aggregates],[`switch`,n.aggregates]].flatMap(([e,t])=>t.map(({state:t,count:n})=>({kind:e,state:t??`up`,count:n})).filter(({state:t,count:n})=>n&&(t!==`up`||e===`chip`)))}export{G as RackView};