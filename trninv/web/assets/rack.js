import{R as e,S as t,_ as n,c as r,j as i,k as a,l as o,n as s,r as c,v as l,w as u,x as d}from"./words.js";import{t as f}from"./wiring.js";import{t as p}from"./causes.js";import{t as m}from"./picture.js";import{E as h,r as g,t as _}from"./jsxRuntime.js";import{d as v,i as y,l as b,n as x,p as S,r as C}from"./state.js";import{a as w,r as T}from"./loss.js";var E=a(`
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
`),D=a(`
  query RackCost($address: Address!) {
    incidents(scope: $address, first: 1) {
      nodes {
        id
        impact {
          jobs { name affectedChips chips }
          domains { ...Capability }
        }
      }
    }
  }
`,[w]),O=a(`
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
  }
`);function k({rack:n}){let r=e(i(D,{address:n}));return _(`section`,{class:`card flush cost`,"aria-label":`What it costs`,children:[_(`h2`,{children:[`What it costs `,_(`span`,{class:`quiet`,children:`before → now`})]}),_(`div`,{class:`inner`,children:_(t,{result:r,children:({incidents:e})=>{let t=e.nodes[0]?.impact;return t?_(`dl`,{class:`figures`,children:[t.domains.slice(0,2).map(e=>_(T,{loss:e,of:e.domain.split(`/`)[1]},e.domain)),_(`div`,{children:[_(`dt`,{children:`Jobs hit`}),_(`dd`,{children:t.jobs.map(({name:e})=>e).join(`, `)||`none`})]})]}):_(`p`,{class:`quiet`,children:`No loss is known.`})}})})]})}var A=4;function j({servers:e,rack:t}){let n=[...new Set(e.flatMap(({domain:e})=>e.servers.nodes.map(e=>e.rack.address)))].filter(e=>e!==t),i=new Set(e.map(({domain:e})=>e.address)).size===1,a=e.length>A?e.filter(({state:e})=>e!==`up`):[...e].reverse();return _(`section`,{class:`card flush`,"aria-label":`Before you pull a server`,children:[_(`h2`,{children:`Before you pull a server`}),_(`dl`,{class:`figures inner`,children:[a.map(({address:e,chips:t,host:n,instance:r})=>{let a=[...new Set(t.nodes.flatMap(({job:e})=>e??[]))];return _(`div`,{children:[_(`dt`,{children:_(`a`,{href:g(`at`,e),children:e.split(`/`).slice(i?2:1).join(`/`)})}),_(`dd`,{children:[_(d,{jobs:a,none:`no job`}),_(`small`,{children:[n,r].filter(Boolean).join(` · `)||`no instance bound`})]})]},e)}),e.length>A&&_(`div`,{children:[_(`dt`,{children:`Jobs in the rack`}),_(`dd`,{children:r(new Set(e.flatMap(({chips:e})=>e.nodes.flatMap(({job:e})=>e??[]))).size)})]}),n.length>0&&_(`div`,{children:[_(`dt`,{children:`Its domains are also in`}),_(`dd`,{children:[n.slice(0,4).map((e,t)=>_(`span`,{children:[t>0&&`, `,_(`a`,{href:g(`rack`,e),children:e.split(`/`)[1]})]},e)),n.length>4&&` and ${n.length-4} more`]})]})]})]})}function M({rack:e,switches:t}){let n=new Map([...e.facts.map(e=>[s(`rack`,e.attribute),e]),...e.servers.nodes.flatMap(e=>e.facts.map(t=>[s(e.model,t.attribute),t])).filter(([e])=>/tray|rack/.test(e))]),r=e.servers.nodes[0]?.model??``;return _(`details`,{class:`card documented`,children:[_(`summary`,{children:[`Documented: `,o(n.size,`fact`)]}),_(`dl`,{class:`figures`,children:[...n].map(([e,t])=>_(`div`,{children:[_(`dt`,{children:[e.replace(`${r} `,``),_(`small`,{children:[t.source.title,`: `,c(t)]})]}),_(`dd`,{children:[t.value,t.assumed&&_(`span`,{class:`assumed`,children:` assumed`})]})]},e))}),t>0&&_(`p`,{class:`quiet`,children:[`This rack also holds `,o(t,`switch`),`. Their rack units are not documented.`]}),_(`p`,{class:`quiet`,children:`The order of servers from bottom to top is assumed.`})]})}var[N,P]=[7,2],F=6,I=e=>C.find(t=>e.includes(t))??`up`;function L({rack:n}){let r=n.cluster.racks.totalCount,a=f()?P:N,o=Math.max(0,Math.min(n.ordinal-a,r-2*a-1)),s=n.cluster.slug,c=e(i(O,{cluster:s,from:o,to:o+2*a}));if(r<2)return null;let l=e=>g(`rack`,`${s}/r${e}`);return _(`nav`,{class:`card neighbors`,"aria-label":`Racks`,children:_(t,{result:c,children:e=>_(h,{children:[_(R,{to:n.ordinal>0?l(n.ordinal-1):void 0,name:`Previous rack`,sign:`‹`}),_(B,{row:e,rack:n}),_(R,{to:n.ordinal<r-1?l(n.ordinal+1):void 0,name:`Next rack`,sign:`›`}),_(V,{row:e,rack:n})]})})})}var R=({to:e,name:t,sign:n})=>e?_(`a`,{class:`button square`,href:e,children:[_(`span`,{"aria-hidden":`true`,children:n}),_(`span`,{class:`unseen`,children:t})]}):_(`span`,{class:`square`});function z({servers:e,chips:t}){let n=new Map,r=(e,t)=>n.set(e,I([t,n.get(e)??`up`].filter(b)));for(let{address:t,state:n}of e.nodes)r(t,n);for(let{state:e,server:n}of t.nodes)r(n.address,e);return n}function B({row:e,rack:t}){let n=z(e);return _(`ol`,{class:`row-of-racks`,children:[...e.racks.nodes].sort((e,t)=>e.ordinal-t.ordinal).map(({address:e,ordinal:r,servers:i})=>{let a=i.nodes.map(e=>n.get(e.address)??e.state),o=I(a);return _(`li`,{children:_(`a`,{href:g(`rack`,e),"aria-current":r===t.ordinal?`page`:void 0,children:[_(`span`,{class:`front`,"aria-hidden":`true`,children:a.length<=4?[...i.nodes].reverse().map(e=>{let t=n.get(e.address)??e.state;return _(`i`,{class:t,children:t!==`up`&&_(x,{state:t})},e.address)}):_(`i`,{class:o,children:o!==`up`&&_(x,{state:o})})}),`r`,r,o!==`up`&&_(`span`,{class:`unseen`,children:[` `,S(o)]})]})},e)})})}function V({row:e,rack:t}){let n=new Map,r=e=>{let t=n.get(e)??{servers:0,chips:0,states:[]};return n.set(e,t),t};for(let{state:t,rack:n}of e.servers.nodes){let e=r(n.ordinal);e.servers++,e.states.push(t)}for(let{state:t,server:n,rack:i}of e.chips.nodes){if(n.state===t)continue;let e=r(i.ordinal);e.chips++,e.states.push(t)}n.delete(t.ordinal);let i=e=>C.indexOf(I(e)),a=[...n].sort((e,t)=>i(e[1].states)-i(t[1].states)||e[0]-t[0]);return _(`div`,{class:`elsewhere`,children:[_(`h2`,{children:`Unhealthy, elsewhere`}),a.length?_(`ul`,{children:[a.slice(0,F).map(([e,{servers:n,chips:r,states:i}])=>_(`li`,{children:[_(x,{state:I(i)}),_(`a`,{href:g(`rack`,`${t.cluster.slug}/r${e}`),children:[`r`,e]}),_(`span`,{class:`quiet`,children:[[n&&o(n,`server`),r&&o(r,`chip`)].filter(Boolean).join(`, `),_(`span`,{class:`unseen`,children:[` `,S(I(i))]})]})]},e)),a.length>F&&_(`li`,{class:`quiet`,children:[`and `,a.length-F,` more`]})]}):_(`p`,{class:`quiet`,children:`no other rack`})]})}function H({route:n}){let r=i(E,{address:n.subject});return _(t,{result:e(r),page:n.subject,children:e=>`rackUnits`in e.resolve?_(U,{answer:e,rack:e.resolve,query:r}):_(`p`,{class:`failure`,children:[n.subject,` is not a rack.`]})})}function U({answer:e,rack:t,query:r}){let i=t.servers.nodes,a=[...new Set(i.map(e=>e.domain.address))],s=i.flatMap(({trays:e})=>e).reduce((e,{rackUnits:t})=>e+(t??0),0),c=!e.incidents.totalCount;return _(`article`,{class:`rack`,children:[_(`header`,{class:`title`,children:[_(`h1`,{children:t.address}),_(`span`,{class:`states`,children:C.map(n=>{let r=K(e,t).filter(e=>e.state===n);return r.length>0&&_(y,{state:n,children:[r.map(({kind:e,count:t})=>o(t,v(e))).join(`, `),` `,S(n)]},n)})}),_(`p`,{children:[o(i.length,`server`),` of`,` `,a.slice(0,3).map((e,t)=>_(`span`,{children:[t>0&&`, `,_(`a`,{href:g(`domain`,e),children:e.split(`/`)[1]})]},e)),a.length>3&&` and ${a.length-3} more`,s>0?`, ${s} of ${t.rackUnits} U`:`, heights not documented`]}),_(`nav`,{class:`tools`,"aria-label":`Rack`,children:[_(n,{queries:[r]}),_(l,{name:t.address,picture:u(`rack`)})]})]}),_(`div`,{class:`columns`,children:[_(`section`,{class:`card elevation`,"aria-label":`Elevation`,children:_(`div`,{style:{minHeight:`${W(t,f())}px`},children:_(m,{name:`rack`,options:{scope:t.address}})})}),_(`aside`,{class:`side`,"aria-label":`Causes and facts`,children:[c?_(`p`,{class:`card quiet`,children:`Every part of this rack is up.`}):_(h,{children:[_(p,{place:t.cluster.slug,incidents:e.incidents}),_(k,{rack:t.address})]}),_(j,{servers:i,rack:t.address}),_(M,{rack:t,switches:e.switches.totalCount})]})]}),_(L,{rack:t})]})}function W(e,t){let n=e.servers.nodes,r=n.reduce((e,t)=>e+Math.max(t.trays.length,1),0),i=n.every(e=>e.trays.some(({rackUnits:e})=>e));return t?36+22*n.length+15*n.reduce((e,t)=>e+G(t),0)+30*r:i?16*e.rackUnits+14:Math.min(690,36*r+6*n.length+14)}function G({state:e,chips:t,host:n,instance:r}){let i=t.nodes.filter(t=>t.state!==`up`&&t.state!==e).length;return 2+(e===`up`?Math.min(i,2):2)+(n||r?1:0)}function K({chips:e,nics:t,switches:n},r){let i=new Map;for(let{state:e}of r.servers.nodes)i.set(e,(i.get(e)??0)+1);return[[`server`,[...i].map(([e,t])=>({state:e,count:t}))],[`chip`,e.aggregates],[`nic`,t.aggregates],[`switch`,n.aggregates]].flatMap(([e,t])=>t.map(({state:t,count:n})=>({kind:e,state:t??`up`,count:n})).filter(({state:t,count:n})=>n&&(t!==`up`||e===`chip`)))}export{H as RackView};