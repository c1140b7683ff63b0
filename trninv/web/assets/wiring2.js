import{E as e,T as t,g as n,r,t as i}from"./jsxRuntime.js";import{A as a,L as o,O as s,S as c,c as l,f as u,l as d,u as f,x as p}from"./words.js";import{f as m,n as h,o as g,p as _,s as v}from"./state.js";import{_ as y,b,g as x,i as S,v as C,x as w}from"./index.js";import{c as T,i as E,l as D,r as ee,t as te}from"./legend.js";import{t as O}from"./metric.js";import{n as k}from"./wiring.js";import{n as A,t as j}from"./kinds.js";function M({part:e,last:t,domain:a,incident:o,server:s,jobs:u,lost:d,children:f}){let{asof:p}=n(),{state:g,factor:y}=e,b=t&&new Date(Date.parse(t.at)-1e3).toISOString(),x=`${_(g)}${y===null?``:` at ${l(100*y)} %`}`;return i(`section`,{class:`card flush part-band ${g}`,"aria-label":`State`,children:[i(h,{state:g}),i(`div`,{class:`said`,children:[i(`strong`,{children:i(c,{text:g===`up`?`Up`:t?.why??`No reason given`})}),i(`span`,{children:[t&&i(N,{last:t,word:x,server:t.cascaded?s:void 0}),t&&`, ${v(t.at,m(p))} ago. `,g===`up`&&t&&`Reason: ${t.why}. `,!t&&g===`up`&&`No change since this cluster was seeded. `,f]}),g!==`up`&&i(`span`,{class:`hits`,children:[i(`span`,{children:[i(`b`,{children:`Hits`}),` `,u.length?u.map((e,t)=>i(`span`,{children:[t>0&&`, `,i(`a`,{href:r(`jobs`,``,{sel:e}),children:e})]},e)):`no job`]}),d&&i(`span`,{children:[i(`b`,{children:`Lost`}),` `,d]}),o&&i(`a`,{href:r(`incidents`,``,{sel:o}),children:[`Incident `,o]})]})]}),i(`div`,{class:`acts`,children:[i(C,{part:e,domain:a}),g!==`up`&&b&&i(`a`,{class:`button`,href:r(`at`,e.address,{asof:b}),children:`View before`})]})]})}function N({last:t,word:n,server:a}){let o=g(t.at).replace(/:\d\d UTC$/,` UTC`);return a?i(e,{children:[i(`a`,{href:r(`at`,a),children:[`Server `,a.split(`/`).at(-1)]}),` was set ${n.replace(`in `,``)} by ${t.who} at ${o}`]}):i(e,{children:`Set ${n.replace(`in `,``)} by ${t.who} at ${o}`})}function P(e,t,n,r){let i=new Map;for(let t of e){if(t.action&&!I(t.address,n)&&!r.includes(t.job??``))continue;let e=t.batch??t.event;i.set(e,[...i.get(e)??[],t])}return[...i.values()].slice(+(e.length<t&&i.size>1)).reverse().map(e=>({event:e.find(({cascaded:e})=>!e)??e[0],addresses:[...new Set(e.map(({address:e})=>e))]}))}var F=(e,t)=>e.findLast(e=>e.address===t&&!e.action)??null,I=(e,t)=>e===t||e.startsWith(`${t}/`);function L(e,t){let n=t.split(`/`).slice(0,2).join(`/`);return e.length<=3?e.map(e=>e===t?`${A(e)} ${e.split(`/`).at(-1)}`:f(f(n,t),u(f(n,e)))).join(`, `):`${l(e.length)}: ${j(e)}`}var R=s(`
  fragment Surroundings on Server {
    address ordinal state model instance host vcpus
    hostMemory { gibibytes }
    lastChange { ...Changed }
    chips(first: 64) { nodes { address ordinal state tray job use lastChange { why } } }
    nics(first: 64) { nodes { address ordinal state factor bandwidth { gigabytesPerSecond } } }
    rack {
      address ordinal rackUnits
      servers(first: 36) { nodes { address ordinal state trays { ordinal kind rackUnits } } }
    }
    domain {
      address model wiring
      servers(first: 64) { nodes { rack { address } } }
      switches(first: 100) { nodes { address ordinal state lastChange { why } server { ordinal } rack { ordinal } } }
      links(filter: { scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
        nodes {
          address state technology scope
          nominal { gigabytesPerSecond }
          bandwidth { gigabytesPerSecond }
          a { address }
          b { address }
        }
      }
    }
  }
`,[x]),z=s(`
  fragment Placed on Layout {
    box { x y width height }
    font
    strokeWidth
    panels { x y width height }
    labels { text x y anchor strong }
    places { address x y width height text sign solid { x y z } }
    routes { address strokes sign }
    wrapLinks
  }
`),B=s(`
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,[x]),V=s(`
  query ServerPage($address: Address!, $domain: Address!, $inside: String!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    cordons(scope: $address, first: 1) { nodes { why who startedAt } }
    allLinks: links(filter: { domain: { eq: $domain }, address: { contains: $inside } }, first: 1) { totalCount }
    idleLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, bandwidth: { eq: { bytesPerSecond: "0" } } }
      first: 1
    ) { totalCount }
    nicLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, scope: { in: [HOST, FABRIC] } }
      first: 1
    ) { totalCount }
    layout(place: $address, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 500) { ...History }
    resolve(address: $address) { __typename ... on Server { factor ...Surroundings } }
  }
`,[R,z,B]),H=s(`
  query ChipPage($address: Address!, $server: Address!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    layout(place: $server, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 100) { ...History }
    resolve(address: $address) {
      __typename
      ... on Chip {
        address state factor tray job use
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        model { name coreModel }
        cores(first: 1) { totalCount }
        lastChange { ...Changed }
        links(first: 64) { nodes { ...WireWithEnds } }
        server { ...Surroundings }
      }
    }
  }
`,[R,z,B,x,y]),U=s(`
  query Loss($scope: Address!, $domain: Address!) {
    chips(filter: { domain: { eq: $domain } }, first: 1) { aggregates(by: [STATE]) { state count } }
    incidents(scope: $scope, first: 1) {
      nodes {
        impact {
          domains {
            domain chipsBefore chipsNow
            poolBefore { gibibytes }
            poolNow { gibibytes }
            allGatherBefore { upper { gigabytesPerSecond } }
            allGatherNow { upper { gigabytesPerSecond } }
          }
        }
      }
    }
  }
`),W=[[`When, UTC`],[`Change`],[`Reason`],[`Parts`],[`By`]],G=12;function K({events:e,place:t,jobs:n}){let a=P(e.nodes,e.totalCount,t,n);return i(`section`,{class:`card flush part-history`,"aria-label":`History`,children:[i(`h2`,{children:[`History `,i(`span`,{class:`quiet`,children:[d(a.length,`change`),`, one row each`]})]}),a.length?i(S,{name:`Changes, the newest first`,columns:W,children:a.slice(0,G).map(({event:e,addresses:n})=>i(`tr`,{children:[i(`th`,{scope:`row`,children:[i(b,{event:e}),` `,i(`a`,{href:r(`at`,t,{asof:e.event}),title:`The page just after it`,children:g(e.at).replace(/:\d\d UTC$/,``)})]}),i(`td`,{children:w(e)}),i(`td`,{children:i(c,{text:e.why})}),i(`td`,{children:e.action?null:n.length===1&&n[0]!==t?i(`a`,{href:r(`at`,n[0]),children:L(n,t)}):L(n,t)}),i(`td`,{children:e.who})]},e.event))}):i(`p`,{class:`inner quiet`,children:`No changes since this cluster was seeded.`}),a.length>G&&i(`p`,{class:`foot quiet`,children:[d(a.length-G,`earlier change`),`: open this page at an earlier time to see them.`]})]})}var q=e=>e===`up`||e===`degraded`;function J({scope:t,domain:n}){let r=o(a(U,{scope:t,domain:n}));return i(`div`,{class:`inner loss`,children:[i(`h3`,{children:[`Domain `,f(n.split(`/`)[0]??``,n),`, before → now`]}),i(p,{result:r,children:({chips:t,incidents:r})=>{let a=r.nodes[0]?.impact.domains.find(e=>e.domain===n),o=t.aggregates.reduce((e,{state:t,count:n})=>e+(q(t)?n:0),0);return i(`dl`,{class:`figures`,children:[i(O,{name:`Working chips`,before:a?.chipsBefore,now:a?.chipsNow??o}),a&&i(e,{children:[i(O,{name:`All-gather limit`,before:a.allGatherBefore.upper.gigabytesPerSecond,now:a.allGatherNow.upper.gigabytesPerSecond,unit:`GB/s`}),i(O,{name:`Memory pool`,before:a.poolBefore.gibibytes,now:a.poolNow.gibibytes,unit:`GiB`})]})]})}})]})}var Y=({trays:e})=>e.reduce((e,{rackUnits:t})=>e+(t??0),0);function X(e,t){let n=e.findIndex(e=>e.address===t),r=e.map(Y);if(n<0||r.includes(0))return null;let i=r.slice(0,n).reduce((e,t)=>e+t,0);return[i+1,i+(r[n]??0)]}function Z({server:e,tray:t}){let{rack:n,domain:a}=e,o=n.servers.nodes,s=o.findIndex(({address:t})=>t===e.address),c=X(o,e.address),[l,u]=[o[s+1],o[s-1]],d=[...new Set(a.servers.nodes.map(({rack:e})=>e.address))].filter(e=>e!==n.address);return i(`section`,{class:`card flush`,"aria-label":`Where it is`,children:[i(`h2`,{children:[`Where it is`,i(`a`,{class:`more`,href:r(`rack`,n.address),children:`Open rack`})]}),i(`div`,{class:`inner where`,children:[i(ne,{servers:o,sel:e.address,tray:t??null,units:n.rackUnits}),i(`dl`,{class:`figures`,children:[i(Q,{name:`Rack`,children:i(`a`,{href:r(`rack`,n.address),children:n.address})}),i(Q,{name:`Units`,children:c?`U${c[0]} to U${c[1]}`:`not documented`}),t!=null&&i(Q,{name:`Tray`,children:[`tray `,t]}),l&&i($,{name:`Above it`,neighbor:l,domain:a.address}),u&&i($,{name:`Below it`,neighbor:u,domain:a.address}),i(Q,{name:`Domain`,children:i(`a`,{href:r(`domain`,a.address),children:a.address})}),d.length>0&&i(Q,{name:`Also in`,children:d.slice(0,4).map((e,t)=>i(`span`,{children:[t>0&&`, `,i(`a`,{href:r(`rack`,e),children:e.split(`/`)[1]})]},e))})]})]})]})}var Q=({name:e,children:t})=>i(`div`,{children:[i(`dt`,{children:e}),i(`dd`,{children:t})]}),$=({name:e,neighbor:t,domain:n})=>i(Q,{name:e,children:[i(`a`,{href:r(`at`,t.address),children:f(n,t.address)}),`, `,t.state]});function ne({servers:e,sel:t,tray:n,units:a}){let o=Math.max(0,a-e.reduce((e,t)=>e+Y(t),0)),s=e.every(e=>Y(e)>0),c=e.length<=4,l=new Set(e.map(({address:e})=>e.split(`/`)[1])).size===1;return i(`ol`,{class:`miniature`,reversed:!0,"aria-label":`Servers of the rack, from the top`,children:[s&&o>0&&i(`li`,{class:`free`,style:{flexGrow:o},"aria-hidden":`true`}),[...e].reverse().map(e=>i(`li`,{class:`${e.state} ${e.address===t?`here`:``}`,style:{flexGrow:Y(e)||1},children:[i(`a`,{href:r(`at`,e.address),"aria-current":e.address===t?`true`:void 0,children:[(e.state!==`up`||c)&&i(h,{state:e.state}),i(`span`,{class:c?``:`unseen`,children:e.address.split(`/`).slice(l?2:1).join(`/`)}),i(`span`,{class:`unseen`,children:[` `,e.state]})]}),c&&i(`span`,{class:`trays`,"aria-hidden":`true`,children:[...e.trays].reverse().map(r=>i(`i`,{class:`${r.kind} ${e.address===t&&r.kind===`compute`&&r.ordinal===n?`chosen`:``}`},r.ordinal+r.kind))})]},e.address))]})}var re={down:[],derate:[]};function ie(e,t){let n=new Set(t.places.map(({address:e})=>e)),{domain:r}=e,i={...r,servers:{nodes:[{...e}]},switches:{nodes:r.switches.nodes.filter(({address:e})=>n.has(e))},links:{nodes:r.links.nodes.filter(({a:e,b:t})=>n.has(e.address)&&n.has(t.address))}};return k(i,t)}function ae({server:n,placed:a,selected:o=``}){let s=t(()=>ie(n,a),[n,a]),c=t(()=>ee(s,re),[s]),l=t(()=>E(s,c),[s,c]),u=e=>{location.hash=r(`at`,e)};return i(e,{children:[i(`section`,{class:`wide`,"aria-label":`Picture`,children:i(D,{id:`wiring`,wiring:s,layout:s.flat,marks:T,chosen:[],selected:o,idle:c,faults:l,derated:new Set,pick:u,open:u,toggle:e=>{location.hash=r(`domain`,s.domain,{down:f(s.domain,e)})},breaking:!1})}),i(te,{wiring:s,mode:`path`,marks:T,idle:c,derated:new Set})]})}export{H as a,M as c,K as i,Z as n,V as o,J as r,F as s,ae as t};