import{A as e,C as t,L as n,O as r,_ as i,c as a,l as o,n as s,r as c,v as l,x as u}from"./words.js";import{t as d}from"./wiring.js";import{t as f}from"./causes.js";import{t as p}from"./picture.js";import{E as m,r as h,t as g}from"./jsxRuntime.js";import{d as _,i as v,l as y,n as b,p as x,r as S}from"./state.js";import{a as C,r as w}from"./loss.js";var T=r(`
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
`),E=r(`
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
`,[C]),D=r(`
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
`);function O({rack:t}){let r=n(e(E,{address:t}));return g(`section`,{class:`card flush cost`,"aria-label":`What it costs`,children:[g(`h2`,{children:[`What it costs `,g(`span`,{class:`quiet`,children:`before → now`})]}),g(`div`,{class:`inner`,children:g(u,{result:r,children:({incidents:e})=>{let t=e.nodes[0]?.impact;return t?g(`dl`,{class:`figures`,children:[t.domains.slice(0,2).map(e=>g(w,{loss:e,of:e.domain.split(`/`)[1]},e.domain)),g(`div`,{children:[g(`dt`,{children:`Jobs hit`}),g(`dd`,{children:t.jobs.map(({name:e})=>e).join(`, `)||`none`})]})]}):g(`p`,{class:`quiet`,children:`No loss is known.`})}})})]})}var k=4;function A({servers:e,rack:t}){let n=[...new Set(e.flatMap(({domain:e})=>e.servers.nodes.map(e=>e.rack.address)))].filter(e=>e!==t),r=new Set(e.map(({domain:e})=>e.address)).size===1,i=e.length>k?e.filter(({state:e})=>e!==`up`):[...e].reverse();return g(`section`,{class:`card flush`,"aria-label":`Before you pull a server`,children:[g(`h2`,{children:`Before you pull a server`}),g(`dl`,{class:`figures inner`,children:[i.map(({address:e,chips:t,host:n,instance:i})=>{let a=[...new Set(t.nodes.flatMap(({job:e})=>e??[]))];return g(`div`,{children:[g(`dt`,{children:g(`a`,{href:h(`at`,e),children:e.split(`/`).slice(r?2:1).join(`/`)})}),g(`dd`,{children:[a.length?a.map((e,t)=>g(`span`,{children:[t>0&&`, `,g(`a`,{href:h(`jobs`,``,{sel:e}),children:e})]},e)):`no job`,g(`small`,{children:[n,i].filter(Boolean).join(` · `)||`no instance bound`})]})]},e)}),e.length>k&&g(`div`,{children:[g(`dt`,{children:`Jobs in the rack`}),g(`dd`,{children:a(new Set(e.flatMap(({chips:e})=>e.nodes.flatMap(({job:e})=>e??[]))).size)})]}),n.length>0&&g(`div`,{children:[g(`dt`,{children:`Its domains are also in`}),g(`dd`,{children:[n.slice(0,4).map((e,t)=>g(`span`,{children:[t>0&&`, `,g(`a`,{href:h(`rack`,e),children:e.split(`/`)[1]})]},e)),n.length>4&&` and ${n.length-4} more`]})]})]})]})}function j({rack:e,switches:t}){let n=new Map([...e.facts.map(e=>[s(`rack`,e.attribute),e]),...e.servers.nodes.flatMap(e=>e.facts.map(t=>[s(e.model,t.attribute),t])).filter(([e])=>/tray|rack/.test(e))]),r=e.servers.nodes[0]?.model??``;return g(`details`,{class:`card documented`,children:[g(`summary`,{children:[`Documented: `,o(n.size,`fact`)]}),g(`dl`,{class:`figures`,children:[...n].map(([e,t])=>g(`div`,{children:[g(`dt`,{children:[e.replace(`${r} `,``),g(`small`,{children:[t.source.title,`: `,c(t)]})]}),g(`dd`,{children:[t.value,t.assumed&&g(`span`,{class:`assumed`,children:` assumed`})]})]},e))}),t>0&&g(`p`,{class:`quiet`,children:[`This rack also holds `,o(t,`switch`),`. Their rack units are not documented.`]}),g(`p`,{class:`quiet`,children:`The order of servers from bottom to top is assumed.`})]})}var[M,N]=[7,2],P=6,F=e=>S.find(t=>e.includes(t))??`up`;function I({rack:t}){let r=t.cluster.racks.totalCount,i=d()?N:M,a=Math.max(0,Math.min(t.ordinal-i,r-2*i-1)),o=t.cluster.slug,s=n(e(D,{cluster:o,from:a,to:a+2*i}));if(r<2)return null;let c=e=>h(`rack`,`${o}/r${e}`);return g(`nav`,{class:`card neighbors`,"aria-label":`Racks`,children:g(u,{result:s,children:e=>g(m,{children:[g(L,{to:t.ordinal>0?c(t.ordinal-1):void 0,name:`Previous rack`,sign:`‹`}),g(z,{row:e,rack:t}),g(L,{to:t.ordinal<r-1?c(t.ordinal+1):void 0,name:`Next rack`,sign:`›`}),g(B,{row:e,rack:t})]})})})}var L=({to:e,name:t,sign:n})=>e?g(`a`,{class:`button square`,href:e,children:[g(`span`,{"aria-hidden":`true`,children:n}),g(`span`,{class:`unseen`,children:t})]}):g(`span`,{class:`square`});function R({servers:e,chips:t}){let n=new Map,r=(e,t)=>n.set(e,F([t,n.get(e)??`up`].filter(y)));for(let{address:t,state:n}of e.nodes)r(t,n);for(let{state:e,server:n}of t.nodes)r(n.address,e);return n}function z({row:e,rack:t}){let n=R(e);return g(`ol`,{class:`row-of-racks`,children:[...e.racks.nodes].sort((e,t)=>e.ordinal-t.ordinal).map(({address:e,ordinal:r,servers:i})=>{let a=i.nodes.map(e=>n.get(e.address)??e.state),o=F(a);return g(`li`,{children:g(`a`,{href:h(`rack`,e),"aria-current":r===t.ordinal?`page`:void 0,children:[g(`span`,{class:`front`,"aria-hidden":`true`,children:a.length<=4?[...i.nodes].reverse().map(e=>{let t=n.get(e.address)??e.state;return g(`i`,{class:t,children:t!==`up`&&g(b,{state:t})},e.address)}):g(`i`,{class:o,children:o!==`up`&&g(b,{state:o})})}),`r`,r,o!==`up`&&g(`span`,{class:`unseen`,children:[` `,x(o)]})]})},e)})})}function B({row:e,rack:t}){let n=new Map,r=e=>{let t=n.get(e)??{servers:0,chips:0,states:[]};return n.set(e,t),t};for(let{state:t,rack:n}of e.servers.nodes){let e=r(n.ordinal);e.servers++,e.states.push(t)}for(let{state:t,server:n,rack:i}of e.chips.nodes){if(n.state===t)continue;let e=r(i.ordinal);e.chips++,e.states.push(t)}n.delete(t.ordinal);let i=e=>S.indexOf(F(e)),a=[...n].sort((e,t)=>i(e[1].states)-i(t[1].states)||e[0]-t[0]);return g(`div`,{class:`elsewhere`,children:[g(`h2`,{children:`Unhealthy, elsewhere`}),a.length?g(`ul`,{children:[a.slice(0,P).map(([e,{servers:n,chips:r,states:i}])=>g(`li`,{children:[g(b,{state:F(i)}),g(`a`,{href:h(`rack`,`${t.cluster.slug}/r${e}`),children:[`r`,e]}),g(`span`,{class:`quiet`,children:[[n&&o(n,`server`),r&&o(r,`chip`)].filter(Boolean).join(`, `),g(`span`,{class:`unseen`,children:[` `,x(F(i))]})]})]},e)),a.length>P&&g(`li`,{class:`quiet`,children:[`and `,a.length-P,` more`]})]}):g(`p`,{class:`quiet`,children:`no other rack`})]})}function V({route:t}){let r=e(T,{address:t.subject});return g(u,{result:n(r),page:t.subject,children:e=>`rackUnits`in e.resolve?g(H,{answer:e,rack:e.resolve,query:r}):g(`p`,{class:`failure`,children:[t.subject,` is not a rack.`]})})}function H({answer:e,rack:n,query:r}){let a=n.servers.nodes,s=[...new Set(a.map(e=>e.domain.address))],c=a.flatMap(({trays:e})=>e).reduce((e,{rackUnits:t})=>e+(t??0),0),u=!e.incidents.totalCount;return g(`article`,{class:`rack`,children:[g(`header`,{class:`title`,children:[g(`h1`,{children:n.address}),g(`span`,{class:`states`,children:S.map(t=>{let r=G(e,n).filter(e=>e.state===t);return r.length>0&&g(v,{state:t,children:[r.map(({kind:e,count:t})=>o(t,_(e))).join(`, `),` `,x(t)]},t)})}),g(`p`,{children:[o(a.length,`server`),` of`,` `,s.slice(0,3).map((e,t)=>g(`span`,{children:[t>0&&`, `,g(`a`,{href:h(`domain`,e),children:e.split(`/`)[1]})]},e)),s.length>3&&` and ${s.length-3} more`,c>0?`, ${c} of ${n.rackUnits} U`:`, heights not documented`]}),g(`nav`,{class:`tools`,"aria-label":`Rack`,children:[g(i,{queries:[r]}),g(l,{name:n.address,picture:t(`rack`)})]})]}),g(`div`,{class:`columns`,children:[g(`section`,{class:`card elevation`,"aria-label":`Elevation`,children:g(`div`,{style:{minHeight:`${U(n,d())}px`},children:g(p,{name:`rack`,options:{scope:n.address}})})}),g(`aside`,{class:`side`,"aria-label":`Causes and facts`,children:[u?g(`p`,{class:`card quiet`,children:`Every part of this rack is up.`}):g(m,{children:[g(f,{place:n.cluster.slug,incidents:e.incidents}),g(O,{rack:n.address})]}),g(A,{servers:a,rack:n.address}),g(j,{rack:n,switches:e.switches.totalCount})]})]}),g(I,{rack:n})]})}function U(e,t){let n=e.servers.nodes,r=n.reduce((e,t)=>e+Math.max(t.trays.length,1),0),i=n.every(e=>e.trays.some(({rackUnits:e})=>e));return t?36+22*n.length+15*n.reduce((e,t)=>e+W(t),0)+30*r:i?16*e.rackUnits+14:Math.min(690,36*r+6*n.length+14)}function W({state:e,chips:t,host:n,instance:r}){let i=t.nodes.filter(t=>t.state!==`up`&&t.state!==e).length;return 2+(e===`up`?Math.min(i,2):2)+(n||r?1:0)}function G({chips:e,nics:t,switches:n},r){let i=new Map;for(let{state:e}of r.servers.nodes)i.set(e,(i.get(e)??0)+1);return[[`server`,[...i].map(([e,t])=>({state:e,count:t}))],[`chip`,e.aggregates],[`nic`,t.aggregates],[`switch`,n.aggregates]].flatMap(([e,t])=>t.map(({state:t,count:n})=>({kind:e,state:t??`up`,count:n})).filter(({state:t,count:n})=>n&&(t!==`up`||e===`chip`)))}export{V as RackView};