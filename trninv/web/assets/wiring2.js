import{E as e,T as t,g as n,r,t as i}from"./jsxRuntime.js";import{O as a,S as o,c as s,f as c,l,u}from"./words.js";import{f as d,n as f,o as p,p as m,s as h}from"./state.js";import{_ as g,b as _,g as v,i as y,v as b,x}from"./index.js";import{c as S,i as C,l as w,r as T,t as E}from"./legend.js";import{n as D}from"./wiring.js";import{n as O,t as k}from"./kinds.js";function A({part:e,last:t,domain:a,incident:c,server:l,children:u}){let{asof:p}=n(),{state:g,factor:_}=e,v=t&&new Date(Date.parse(t.at)-1e3).toISOString(),y=`${m(g)}${_===null?``:` at ${s(100*_)} %`}`;return i(`section`,{class:`card flush part-band ${g}`,"aria-label":`State`,children:[i(f,{state:g}),i(`div`,{class:`said`,children:[i(`strong`,{children:i(o,{text:g===`up`?`Up`:t?.why??`No reason given`})}),i(`span`,{children:[t&&i(j,{last:t,word:y,server:t.cascaded?l:void 0}),t&&`, ${h(t.at,d(p))} ago. `,g===`up`&&t&&`Reason: ${t.why}. `,!t&&g===`up`&&`No change since this cluster was seeded. `,u,` `,g!==`up`&&c&&i(`a`,{href:r(`incidents`,``,{sel:c}),children:[`Incident `,c]})]})]}),i(`div`,{class:`acts`,children:[i(b,{part:e,domain:a}),g!==`up`&&v&&i(`a`,{class:`button`,href:r(`at`,e.address,{asof:v}),children:`View before`})]})]})}function j({last:t,word:n,server:a}){let o=p(t.at).replace(/:\d\d UTC$/,` UTC`);return a?i(e,{children:[i(`a`,{href:r(`at`,a),children:[`Server `,a.split(`/`).at(-1)]}),` was set ${n.replace(`in `,``)} by ${t.who} at ${o}`]}):i(e,{children:`Set ${n.replace(`in `,``)} by ${t.who} at ${o}`})}function M(e,t,n,r){let i=new Map;for(let t of e){if(t.action&&!P(t.address,n)&&!r.includes(t.job??``))continue;let e=t.batch??t.event;i.set(e,[...i.get(e)??[],t])}return[...i.values()].slice(+(e.length<t&&i.size>1)).reverse().map(e=>({event:e.find(({cascaded:e})=>!e)??e[0],addresses:[...new Set(e.map(({address:e})=>e))]}))}var N=(e,t)=>e.findLast(e=>e.address===t&&!e.action)??null,P=(e,t)=>e===t||e.startsWith(`${t}/`);function F(e,t){let n=t.split(`/`).slice(0,2).join(`/`);return e.length<=3?e.map(e=>e===t?`${O(e)} ${e.split(`/`).at(-1)}`:u(u(n,t),c(u(n,e)))).join(`, `):`${s(e.length)}: ${k(e)}`}var I=a(`
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
`,[v]),L=a(`
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
`),R=a(`
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,[v]),z=a(`
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
`,[I,L,R]),B=a(`
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
`,[I,L,R,v,g]),V=a(`
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
`),H=[[`When, UTC`],[`Change`],[`Reason`],[`Parts`],[`By`]],U=12;function W({events:e,place:t,jobs:n}){let a=M(e.nodes,e.totalCount,t,n);return i(`section`,{class:`card flush part-history`,"aria-label":`History`,children:[i(`h2`,{children:[`History `,i(`span`,{class:`quiet`,children:[l(a.length,`change`),`, one row each`]})]}),a.length?i(y,{name:`Changes, the newest first`,columns:H,children:a.slice(0,U).map(({event:e,addresses:n})=>i(`tr`,{children:[i(`th`,{scope:`row`,children:[i(_,{event:e}),` `,i(`a`,{href:r(`at`,t,{asof:e.event}),title:`The page just after it`,children:p(e.at).replace(/:\d\d UTC$/,``)})]}),i(`td`,{children:x(e)}),i(`td`,{children:i(o,{text:e.why})}),i(`td`,{children:e.action?null:n.length===1&&n[0]!==t?i(`a`,{href:r(`at`,n[0]),children:F(n,t)}):F(n,t)}),i(`td`,{children:e.who})]},e.event))}):i(`p`,{class:`inner quiet`,children:`No changes since this cluster was seeded.`}),a.length>U&&i(`p`,{class:`foot quiet`,children:[l(a.length-U,`earlier change`),`: open this page at an earlier time to see them.`]})]})}var G=({trays:e})=>e.reduce((e,{rackUnits:t})=>e+(t??0),0);function K(e,t){let n=e.findIndex(e=>e.address===t),r=e.map(G);if(n<0||r.includes(0))return null;let i=r.slice(0,n).reduce((e,t)=>e+t,0);return[i+1,i+(r[n]??0)]}function q({server:e,tray:t}){let{rack:n,domain:a}=e,o=n.servers.nodes,s=o.findIndex(({address:t})=>t===e.address),c=K(o,e.address),[l,u]=[o[s+1],o[s-1]],d=[...new Set(a.servers.nodes.map(({rack:e})=>e.address))].filter(e=>e!==n.address);return i(`section`,{class:`card flush`,"aria-label":`Where it is`,children:[i(`h2`,{children:[`Where it is`,i(`a`,{class:`more`,href:r(`rack`,n.address),children:`Open rack`})]}),i(`div`,{class:`inner where`,children:[i(X,{servers:o,sel:e.address,tray:t??null,units:n.rackUnits}),i(`dl`,{class:`figures`,children:[i(J,{name:`Rack`,children:i(`a`,{href:r(`rack`,n.address),children:n.address})}),i(J,{name:`Units`,children:c?`U${c[0]} to U${c[1]}`:`not documented`}),t!=null&&i(J,{name:`Tray`,children:[`tray `,t]}),l&&i(Y,{name:`Above it`,neighbor:l,domain:a.address}),u&&i(Y,{name:`Below it`,neighbor:u,domain:a.address}),i(J,{name:`Domain`,children:i(`a`,{href:r(`domain`,a.address),children:a.address})}),d.length>0&&i(J,{name:`Also in`,children:d.slice(0,4).map((e,t)=>i(`span`,{children:[t>0&&`, `,i(`a`,{href:r(`rack`,e),children:e.split(`/`)[1]})]},e))})]})]})]})}var J=({name:e,children:t})=>i(`div`,{children:[i(`dt`,{children:e}),i(`dd`,{children:t})]}),Y=({name:e,neighbor:t,domain:n})=>i(J,{name:e,children:[i(`a`,{href:r(`at`,t.address),children:u(n,t.address)}),`, `,t.state]});function X({servers:e,sel:t,tray:n,units:a}){let o=Math.max(0,a-e.reduce((e,t)=>e+G(t),0)),s=e.every(e=>G(e)>0),c=e.length<=4,l=new Set(e.map(({address:e})=>e.split(`/`)[1])).size===1;return i(`ol`,{class:`miniature`,reversed:!0,"aria-label":`Servers of the rack, from the top`,children:[s&&o>0&&i(`li`,{class:`free`,style:{flexGrow:o},"aria-hidden":`true`}),[...e].reverse().map(e=>i(`li`,{class:`${e.state} ${e.address===t?`here`:``}`,style:{flexGrow:G(e)||1},children:[i(`a`,{href:r(`at`,e.address),"aria-current":e.address===t?`true`:void 0,children:[(e.state!==`up`||c)&&i(f,{state:e.state}),i(`span`,{class:c?``:`unseen`,children:e.address.split(`/`).slice(l?2:1).join(`/`)}),i(`span`,{class:`unseen`,children:[` `,e.state]})]}),c&&i(`span`,{class:`trays`,"aria-hidden":`true`,children:[...e.trays].reverse().map(r=>i(`i`,{class:`${r.kind} ${e.address===t&&r.kind===`compute`&&r.ordinal===n?`chosen`:``}`},r.ordinal+r.kind))})]},e.address))]})}var Z={down:[],derate:[]};function Q(e,t){let n=new Set(t.places.map(({address:e})=>e)),{domain:r}=e,i={...r,servers:{nodes:[{...e}]},switches:{nodes:r.switches.nodes.filter(({address:e})=>n.has(e))},links:{nodes:r.links.nodes.filter(({a:e,b:t})=>n.has(e.address)&&n.has(t.address))}};return D(i,t)}function $({server:n,placed:a,selected:o=``}){let s=t(()=>Q(n,a),[n,a]),c=t(()=>T(s,Z),[s]),l=t(()=>C(s,c),[s,c]),d=e=>{location.hash=r(`at`,e)};return i(e,{children:[i(`section`,{class:`wide`,"aria-label":`Picture`,children:i(w,{id:`wiring`,wiring:s,layout:s.flat,marks:S,chosen:[],selected:o,idle:c,faults:l,derated:new Set,pick:d,open:d,toggle:e=>{location.hash=r(`domain`,s.domain,{down:u(s.domain,e)})},breaking:!1})}),i(E,{wiring:s,mode:`path`,marks:S,idle:c,derated:new Set})]})}export{V as a,A as c,B as i,q as n,z as o,W as r,N as s,$ as t};